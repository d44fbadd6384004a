#include "not_carried.h"

#include <array>
#include <string_view>

namespace synps {
namespace {

/// A key of a policy, and the value that says nothing.
struct SilentValue {
  std::string_view key;
  std::string_view value;
};
constexpr std::array kKeys{SilentValue{"backend.device", "local"}, SilentValue{"dtype", "f32"},
                           SilentValue{"form.orientation", "out_in"},
                           SilentValue{"form.residency", "auto"}};

}  // namespace

void NotCarriedList::count(std::string key, std::string value, const std::string& example) {
  NotCarried& entry = all_[{key, value}];
  if (entry.count++ != 0) return;
  entry.key = std::move(key);
  entry.value = std::move(value);
  entry.example = example;
}

void NotCarriedList::add(const Weight& weight, const WeightResolution& resolution) {
  for (const KeyDecision& decision : resolution.decisions)
    for (const SilentValue& silent : kKeys)
      if (decision.key == silent.key && decision.value != silent.value)
        count(decision.key, decision.value, weight.path);
  if (resolution.scheme && resolution.scheme->is_volatile) count("volatile", {}, weight.path);
}

void NotCarriedList::add(const std::vector<ValueScheme>& values) {
  for (const ValueScheme& value : values) count("values", {}, value.pattern);
}

std::vector<NotCarried> NotCarriedList::take() {
  std::vector<NotCarried> list;
  for (auto& [key, entry] : all_) list.push_back(std::move(entry));
  all_.clear();
  return list;
}

}  // namespace synps
