#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "package_call.h"
#include "synps/codec.h"

namespace synps {

/// The analysis pass of a package's codec: owns the package's object.
class PackageAnalysis final : public Analysis {
 public:
  /// Throws Error(package).
  PackageAnalysis(std::shared_ptr<const PackageCodecTable> codec, const Weight& weight);
  ~PackageAnalysis() override;
  PackageAnalysis(const PackageAnalysis&) = delete;
  PackageAnalysis& operator=(const PackageAnalysis&) = delete;

  void add(std::span<const float> values) override;
  void store(std::size_t component, std::span<std::byte> out) const override;

  const void* state() const noexcept { return state_; }

 private:
  void store_once(const PackageCall& call, std::size_t component, std::byte fill,
                  GuardedBytes& memory) const;

  std::shared_ptr<const PackageCodecTable> codec_;
  std::string path_;  ///< of the weight, for messages
  void* state_ = nullptr;
  std::uint64_t calls_ = 0;  ///< of add()
};

}  // namespace synps
