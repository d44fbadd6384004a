#pragma once

#include <span>
#include <vector>

#include "package_call.h"
#include "synps/codec.h"
#include "synps/codec_abi.h"

namespace synps {

// Between what a package sees or says and what synps has.

/// What memory holds before a package writes it. Two, so that a byte that is left as it was shows.
inline constexpr std::byte kFirstFill{0xA5};
inline constexpr std::byte kSecondFill{0x5A};

/// Refer to their arguments.
synps_codec_weight weight_for_package(const Weight& weight) noexcept;
synps_codec_piece piece_for_package(const Piece& piece, const synps_codec_weight& weight) noexcept;

/// What a package's record says of a component. Throws Error(package) for what cannot be,
/// Error(limit) for a size that does not fit 64 bits.
Component component_from_package(const PackageCall& call, const Weight& weight,
                                 const synps_codec_component& record);

/// Adds what a package found in the values of a piece. Throws Error(package) for a finding of a
/// value that is not there or not of that kind.
void add_package_findings(const PackageCall& call, const synps_codec_findings& told,
                          const Piece& piece, std::span<const float> values, ValueReport& report);

bool same_package_findings(const synps_codec_findings& a, const synps_codec_findings& b) noexcept;

/// Bit for bit, but that a NaN is a NaN.
bool same_decoded(std::span<const float> a, std::span<const float> b) noexcept;

/// Guarded memory for the encoded bytes of a piece, one for each of `out`.
class EncodedBytes {
 public:
  using Spans = std::vector<std::span<std::byte>>;

  explicit EncodedBytes(const Spans& out);
  void fill(std::byte with) noexcept;
  /// Throws Error(package) when a guard byte was written.
  void check(const PackageCall& call) const;
  void copy_to(const Spans& out) noexcept;
  bool equals(const Spans& out) noexcept;
  /// What the package gets.
  const std::vector<synps_codec_bytes>& for_package() const noexcept { return for_package_; }

 private:
  std::vector<GuardedBytes> memory_;
  std::vector<synps_codec_bytes> for_package_;
};

}  // namespace synps
