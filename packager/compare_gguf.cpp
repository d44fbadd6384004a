#include "compare_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gguf_key_plan.h"
#include "gguf_values.h"
#include "synps/plan.h"

namespace synps {

Problem TensorComparer::problem(const SourceTensor& stored, std::string what, std::string found,
                                std::string want) const {
  return {.code = ErrorCode::artifact,
          .file = written_.files()[stored.file].path(),
          .what = std::move(what),
          .field = stored.weight.path,
          .found = std::move(found),
          .want = std::move(want)};
}

TensorComparison TensorComparer::compare(const SourceTensor& source, const SourceTensor& stored) {
  TensorComparison result;
  WeightError& error = result.error;
  error.path = stored.weight.path;
  const Codec* from = source_codec(codecs_, weight_facts(source));
  const Codec* codec = source_codec(codecs_, weight_facts(stored));
  error.codec = codec != nullptr ? codec->info().id() : CodecRef::keep().id();
  error.source = source.encoding;
  error.bytes = stored.bytes;
  const bool copied = source.encoding == stored.encoding;
  const bool decodes = from != nullptr && codec != nullptr;
  error.lossless =
      copied || (codec != nullptr && codec->info().stores_exactly(source.weight.dtype));
  if (source.weight.shape != stored.weight.shape || (!copied && !decodes)) {
    error.compared = error.exact = false;
    const auto text = [](const SourceTensor& tensor) {
      return fmt::format("{} {}", tensor.encoding, tensor.weight.shape.to_string());
    };
    result.problem =
        problem(stored, "the weight is not the checkpoint's", text(stored), text(source));
    return result;
  }
  error.compared = decodes;
  const ComparedTensor wanted{&checkpoint_, &source, from};
  const ComparedTensor found{&written_, &stored, codec};
  std::optional<FirstDifference> difference;
  if (copied) difference = comparer_.compare_bytes(wanted, found);
  // Of bytes that differ only how far they are off: equal values do not make them equal.
  if (decodes && (!copied || difference)) {
    const ValueComparison values = comparer_.compare_values(wanted, found);
    static_cast<ErrorFigures&>(error) = values.sums().figures();
    if (!copied) difference = values.first(source.weight.shape);
  } else if (!difference) {
    static_cast<ErrorFigures&>(error) = no_error(source.weight.shape.elements());
  }
  error.exact = !difference;
  if (difference && error.lossless)
    result.problem =
        problem(stored, "a lossless weight differs from its source at " + difference->where,
                difference->value, difference->reference);
  return result;
}

namespace {

/// Compares two sequences of key-values that are the same but for what may change.
class KeyComparer {
 public:
  KeyComparer(const Checkpoint& checkpoint, const Checkpoint& written)
      : checkpoint_(checkpoint), written_(written) {}

  std::vector<Problem> run();

 private:
  static std::vector<const SourceKeyValue*> kept(const Checkpoint& checkpoint) {
    std::vector<const SourceKeyValue*> all;
    for (const SourceKeyValue& each : checkpoint.key_values())
      if (!may_change_in_gguf(each.value.key)) all.push_back(&each);
    std::sort(all.begin(), all.end(), [](const SourceKeyValue* a, const SourceKeyValue* b) {
      return a->value.key < b->value.key;
    });
    return all;
  }
  void report(std::string what, const SourceKeyValue& value, bool of_written) {
    Problem problem{.code = ErrorCode::artifact, .file = written_.path()};
    problem.what = std::move(what);
    problem.field = "key " + quote(value.value.key);
    if (of_written) problem.offset = value.value.offset;
    problems_.push_back(std::move(problem));
  }
  void compare_values();
  void compare_sequence();

  const Checkpoint& checkpoint_;
  const Checkpoint& written_;
  std::vector<Problem> problems_;
};

void KeyComparer::compare_values() {
  const std::vector<const SourceKeyValue*> wanted = kept(checkpoint_);
  const std::vector<const SourceKeyValue*> found = kept(written_);
  std::size_t w = 0;
  std::size_t f = 0;
  while (w < wanted.size() || f < found.size()) {
    const int order = w == wanted.size()  ? 1
                      : f == found.size() ? -1
                                          : wanted[w]->value.key.compare(found[f]->value.key);
    if (order < 0) {
      report("the checkpoint's key-value is not in the file", *wanted[w++], false);
    } else if (order > 0) {
      report("the key-value is not in the checkpoint", *found[f++], true);
    } else {
      if (!same_gguf_value(checkpoint_.files()[wanted[w]->file], wanted[w]->value,
                           written_.files()[found[f]->file], found[f]->value))
        report("the key-value is not the checkpoint's", *found[f], true);
      ++w;
      ++f;
    }
  }
}

/// Where both have the same keys, they are in the same sequence.
void KeyComparer::compare_sequence() {
  auto at = written_.key_values().begin();
  const auto skip = [&] {
    at = std::find_if(at, written_.key_values().end(), [](const SourceKeyValue& each) {
      return !may_change_in_gguf(each.value.key);
    });
  };
  for (const SourceKeyValue& each : checkpoint_.key_values()) {
    if (may_change_in_gguf(each.value.key)) continue;
    skip();
    if (at->value.key != each.value.key) {
      report("the key-value is out of the checkpoint's sequence", *at, true);
      return;
    }
    ++at;
  }
}

std::vector<Problem> KeyComparer::run() {
  compare_values();
  if (problems_.empty()) compare_sequence();
  return std::move(problems_);
}

}  // namespace

std::vector<Problem> compare_key_values(const Checkpoint& checkpoint, const Checkpoint& written) {
  return KeyComparer(checkpoint, written).run();
}

}  // namespace synps
