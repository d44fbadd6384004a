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

/// Of the parts that a weight passes through a package in, one of so many is watched as its ends
/// are: called twice, and with its inputs in guarded copies.
inline constexpr std::uint64_t kWatchedParts = 16;

/// A weight as a package sees it: copies with guards, for one call or a few. Refers to its
/// argument.
class PackageWeight {
 public:
  explicit PackageWeight(const Weight& weight);
  PackageWeight(const PackageWeight&) = delete;
  PackageWeight& operator=(const PackageWeight&) = delete;

  const synps_codec_weight* view() const noexcept { return &view_.value; }
  /// Throws Error(package) when any of it was written.
  void check(const PackageCall& call) const;

 private:
  GuardedCopy path_;
  GuardedCopy extents_;
  Guarded<synps_codec_weight> view_;
  synps_codec_weight as_given_{};
};

/// The same for a piece and its weight.
class PackagePiece {
 public:
  explicit PackagePiece(const Piece& piece);
  PackagePiece(const PackagePiece&) = delete;
  PackagePiece& operator=(const PackagePiece&) = delete;

  const synps_codec_piece* view() const noexcept { return &view_.value; }
  void check(const PackageCall& call) const;

 private:
  PackageWeight weight_;
  Guarded<synps_codec_piece> view_;
  synps_codec_piece as_given_{};
};

/// What a package's record says of a component. Throws Error(package) for what cannot be,
/// Error(limit) for a size that does not fit 64 bits.
Component component_from_package(const PackageCall& call, const Weight& weight,
                                 const synps_codec_component& record);

/// Adds what a package found in the values of a piece. Throws Error(package) for a finding of a
/// value that is not there or not of that kind, and for NaN and infinities of which only some are
/// reported.
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
