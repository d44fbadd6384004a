#include "format_names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "synps/dtype.h"

namespace synps {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// What other tools call the same.
std::optional<std::string> alias(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
      {"bfloat16", "bf16"}, {"float16", "f16"}, {"fp16", "f16"},    {"half", "f16"},
      {"float32", "f32"},   {"fp32", "f32"},    {"float", "f32"},   {"float64", "f64"},
      {"fp64", "f64"},      {"double", "f64"},  {"q8", "q8_0"},     {"q4", "q4_0"},
      {"q4_k_m", "q4_k"},   {"q4_k_s", "q4_k"}, {"q5_k_m", "q5_k"}, {"q5_k_s", "q5_k"},
      {"copy", "keep"}};
  for (const auto& [other, ours] : kAliases)
    if (other == name) return std::string(ours);
  return std::nullopt;
}

std::string did_you_mean(const std::vector<std::string>& names) {
  return names.empty() ? std::string() : fmt::format("did you mean {}?", fmt::join(names, " or "));
}

bool can_encode(const CodecRegistry& codecs, std::string_view name) {
  const Codec* codec = codecs.resolve(name);
  return codec != nullptr && codec->info().encodes;
}

// Suggestions that a policy may use.
std::vector<std::string> encoders_like(std::string_view name, const CodecRegistry& codecs) {
  std::vector<std::string> names = codecs.suggestions(name);
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& each) { return !can_encode(codecs, each); }),
              names.end());
  return names;
}

Problem unknown_codec(std::string_view name, const CodecRegistry& codecs) {
  const std::vector<const Codec*> all = codecs.all();
  const auto exports = std::count_if(
      all.begin(), all.end(), [&](const Codec* codec) { return codec->info().name == name; });
  Problem problem{.what = exports > 1 ? "ambiguous codec" : "unknown codec", .found = quote(name)};
  const std::string plain = alias(lower(name)).value_or(lower(name));
  if (plain != name && (plain == kKeep || can_encode(codecs, plain)))
    problem.hint = did_you_mean({plain});
  else
    problem.hint = did_you_mean(encoders_like(name, codecs));
  if (problem.hint.empty())
    problem.hint =
        "`synps codecs` lists the codecs; those of other packages need an entry in [packages], or "
        "--package";
  return problem;
}

std::optional<std::string> dtype_encoding(std::string_view name) {
  for (const DType dtype : all_dtypes())
    if (encoding_name(dtype) == name) return std::string(name);
  return std::nullopt;
}

Problem unknown_encoding(std::string_view name, const CodecRegistry& codecs) {
  Problem problem{.what = "unknown encoding", .found = quote(name)};
  if (name == kKeep) {
    problem.want = "an encoding that the checkpoint stores";
    return problem;
  }
  std::vector<std::string> names;
  for (const DType dtype : all_dtypes()) names.emplace_back(encoding_name(dtype));
  if (const auto near = dtype_encoding(alias(lower(name)).value_or(lower(name))))
    problem.hint = did_you_mean({*near});
  else if (const auto nearest_name = nearest(name, names))
    problem.hint = did_you_mean({*nearest_name});
  else
    problem.hint = did_you_mean(codecs.suggestions(name));
  if (problem.hint.empty())
    problem.want = fmt::format("one of {}, or a codec", fmt::join(names, ", "));
  return problem;
}

}  // namespace

FormatName resolve_format(std::string_view name, const CodecRegistry& codecs) {
  FormatName result;
  if (name == kKeep) {
    result.name = kKeep;
    return result;
  }
  const Codec* codec = codecs.resolve(name);
  if (codec == nullptr) {
    result.problem = unknown_codec(name, codecs);
  } else if (!codec->info().encodes) {
    result.problem = {.what = "codec is for reading only",
                      .found = quote(name),
                      .want = "a codec that encodes, or keep"};
  } else {
    result.name = codec->info().id();
    result.codec = codec;
  }
  return result;
}

EncodingName resolve_encoding(std::string_view name, const CodecRegistry& codecs) {
  EncodingName result;
  if (const auto dtype = dtype_encoding(name))
    result.name = *dtype;
  else if (const Codec* codec = codecs.resolve(name))
    result.name = encoding_of(codec->info());
  else
    result.problem = unknown_encoding(name, codecs);
  return result;
}

std::string encoding_of(const CodecInfo& info) {
  return info.dense_dtype ? std::string(encoding_name(*info.dense_dtype)) : info.id();
}

std::string short_format(std::string_view name, const CodecRegistry& codecs) {
  const Codec* codec = codecs.resolve(name);
  return codec == nullptr ? std::string(name) : CodecRegistry::short_name(codec->info());
}

}  // namespace synps
