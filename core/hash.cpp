#include "synps/hash.h"

#include <xxhash.h>
// The library's plain functions are compiled for the oldest x86-64; these look at the processor.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#define SYNPS_XXH_DISPATCH 1
#endif

#include <cstring>
#include <new>

namespace synps {
namespace {

Digest canonical(XXH128_hash_t hash) noexcept {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Digest digest;
  static_assert(sizeof(bytes.digest) == sizeof(digest));
  std::memcpy(digest.data(), bytes.digest, sizeof(digest));
  return digest;
}

#ifdef SYNPS_XXH_DISPATCH
/// The first call looks at the processor and writes down what it found, unguarded: so it is made
/// once, before any other.
void choose_kernel() noexcept {
  static const XXH128_hash_t once = XXH3_128bits_dispatch("", 0);
  static_cast<void>(once);
}

XXH128_hash_t hash_bytes(const void* bytes, std::size_t size) noexcept {
  choose_kernel();
  return XXH3_128bits_dispatch(bytes, size);
}

void hash_update(XXH3_state_t* state, const void* bytes, std::size_t size) noexcept {
  choose_kernel();
  XXH3_128bits_update_dispatch(state, bytes, size);
}
#else
XXH128_hash_t hash_bytes(const void* bytes, std::size_t size) noexcept {
  return XXH3_128bits(bytes, size);
}

void hash_update(XXH3_state_t* state, const void* bytes, std::size_t size) noexcept {
  XXH3_128bits_update(state, bytes, size);
}
#endif

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Digest xxh3_128(std::span<const std::byte> bytes) noexcept {
  return canonical(hash_bytes(bytes.data(), bytes.size()));
}

std::string to_hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const std::byte byte : digest) {
    hex += kDigits[std::to_integer<std::size_t>(byte) >> 4];
    hex += kDigits[std::to_integer<std::size_t>(byte) & 15];
  }
  return hex;
}

std::optional<Digest> digest_from_hex(std::string_view hex) noexcept {
  Digest digest;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = hex_value(hex[2 * i]);
    const int low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<std::byte>(high << 4 | low);
  }
  return digest;
}

struct Hasher::State {
  State() : xxh(XXH3_createState()) {
    if (xxh == nullptr) throw std::bad_alloc();
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  reset();
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::reset() noexcept {
  XXH3_128bits_reset(state_->xxh);
}

void Hasher::update(std::span<const std::byte> bytes) noexcept {
  hash_update(state_->xxh, bytes.data(), bytes.size());
}

Digest Hasher::digest() const noexcept {
  return canonical(XXH3_128bits_digest(state_->xxh));
}

}  // namespace synps
