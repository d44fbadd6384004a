#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/codec.h"

namespace synps {

/// The codecs that a program knows, by package and export. Filled once, then only read (from any
/// number of threads).
class CodecRegistry {
 public:
  /// Throws Error(package) when `package:export` of the codec is taken.
  void add(std::shared_ptr<const Codec> codec);

  /// The codec of exactly this package and export, or null.
  const Codec* find(std::string_view package, std::string_view name) const noexcept;

  /// What a name in a policy or on the command line means: `package:export`, or a short name,
  /// which is the export of that name in the package of that name. Null when there is none;
  /// suggestions() then says what was meant.
  const Codec* resolve(std::string_view name) const noexcept;

  /// Qualified names worth naming in an error about `name`: exports of that name in other
  /// packages, the exports of a package of that name, else the nearest by spelling. At most
  /// `limit`.
  std::vector<std::string> suggestions(std::string_view name, std::size_t limit = 5) const;

  /// The dense codec that stores entries of this dtype, or null (integers, and floats that nothing
  /// decodes).
  const Codec* for_dtype(DType dtype) const noexcept;

  /// All codecs, by package then export.
  std::vector<const Codec*> all() const;

  /// How a policy may write this codec most briefly: "q8_0" for q8_0:q8_0, else the qualified name.
  static std::string short_name(const CodecInfo& info);

 private:
  std::vector<std::shared_ptr<const Codec>> codecs_;  // sorted by package, then export
};

/// Edit distance (insert, delete, replace, swap of neighbours), for suggestions.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, if it is near enough to be worth suggesting.
std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

}  // namespace synps
