#include "pattern_search.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "pattern_compare.h"
#include "pattern_dfa.h"
#include "pattern_text.h"

namespace synps::pattern {
namespace {

// What a path of code points that no pattern tells apart is spelled with.
char32_t other_code_point(const std::vector<char32_t>& literals) {
  char32_t candidate = U'a';
  while (std::binary_search(literals.begin(), literals.end(), candidate)) ++candidate;
  return candidate;
}

// One code point for every class that some pattern tells from the others; the dot comes last, so
// that of the shortest paths one with few empty segments is found first.
std::vector<char32_t> joint_code_points(const std::vector<const Nfa*>& patterns) {
  std::vector<char32_t> all;
  for (const Nfa* nfa : patterns)
    all.insert(all.end(), nfa->alphabet.literals().begin(), nfa->alphabet.literals().end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.insert(all.begin(), other_code_point(all));
  all.push_back(U'.');
  return all;
}

// Breadth first over the joint states of all patterns, each made deterministic as it is asked.
class Search {
 public:
  Search(const std::vector<const Nfa*>& inside, const std::vector<const Nfa*>& outside)
      : inside_(inside.size()), patterns_(inside) {
    patterns_.insert(patterns_.end(), outside.begin(), outside.end());
    for (const Nfa* nfa : patterns_) automata_.push_back(std::make_unique<Determiniser>(*nfa));
    code_points_ = joint_code_points(patterns_);
    for (const Nfa* nfa : patterns_) {
      std::vector<std::uint32_t>& symbols = symbols_.emplace_back();
      for (const char32_t each : code_points_)
        symbols.push_back(each == U'.' ? Alphabet::kDot : nfa->alphabet.class_of(each));
    }
  }

  PathSearch run(std::uint64_t limit) {
    States start;
    for (const auto& automaton : automata_) start.push_back(automaton->start());
    visit(std::move(start), 0, 0);
    for (std::size_t at = 0; at < order_.size() && !found_; ++at) {
      if (work() > limit) return {};
      expand(at);
    }
    PathSearch result{true, std::nullopt};
    if (found_) result.path = spell(*found_);
    return result;
  }

  std::uint64_t work() const {
    std::uint64_t work = work_;
    for (const auto& automaton : automata_) work += automaton->work();
    return work;
  }

 private:
  using States = std::vector<std::uint32_t>;
  struct Visit {
    const States* states = nullptr;
    std::size_t from = 0;
    char32_t code_point = 0;
  };

  void expand(std::size_t at) {
    for (std::size_t i = 0; i < code_points_.size() && !found_; ++i) {
      States next = *order_[at].states;
      for (std::size_t p = 0; p < next.size(); ++p)
        next[p] = automata_[p]->step(next[p], symbols_[p][i]);
      work_ += 4 * next.size() + 16;
      visit(std::move(next), at, code_points_[i]);
    }
  }

  void visit(States states, std::size_t from, char32_t code_point) {
    bool accepted = true;
    for (std::size_t p = 0; p < states.size(); ++p) {
      const bool accepts = automata_[p]->accepts(states[p]);
      if (p < inside_ && states[p] == kDead) return;
      if (p >= inside_ && states[p] == kUniversal) return;
      accepted = accepted && accepts == (p < inside_);
    }
    const auto entered = seen_.insert(std::move(states));
    if (!entered.second) return;
    order_.push_back({&*entered.first, from, code_point});
    if (accepted) found_ = order_.size() - 1;
  }

  std::string spell(std::size_t at) const {
    std::u32string reversed;
    for (; at != 0; at = order_[at].from) reversed += order_[at].code_point;
    std::string path;
    for (auto it = reversed.rbegin(); it != reversed.rend(); ++it) append_code_point(path, *it);
    return path;
  }

  std::size_t inside_;
  std::vector<const Nfa*> patterns_;
  std::vector<std::unique_ptr<Determiniser>> automata_;
  std::vector<char32_t> code_points_;
  std::vector<std::vector<std::uint32_t>> symbols_;  // by pattern, then code point
  std::set<States> seen_;                            // members stay where they are
  std::vector<Visit> order_;
  std::optional<std::size_t> found_;
  std::uint64_t work_ = 0;
};

}  // namespace

PathSearch find_path(const std::vector<const Nfa*>& inside, const std::vector<const Nfa*>& outside,
                     std::uint64_t& steps) {
  Search search(inside, outside);
  PathSearch result = search.run(std::min(steps, kMaxCompareSteps));
  spend(steps, search.work());
  return result;
}

}  // namespace synps::pattern
