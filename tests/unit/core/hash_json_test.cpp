#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "synps/hash.h"
#include "synps/json_writer.h"

namespace synps {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_CASE("XXH3-128 gives the published test values") {
  // The hash of nothing, seed 0, from xxHash's own sanity tests.
  CHECK(to_hex(xxh3_128({})) == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("hashing in pieces equals hashing at once") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7 + i / 13);
  Hasher hasher;
  hasher.update(bytes_of(text).first(1));
  hasher.update(bytes_of(text).subspan(1, 4000));
  hasher.update(bytes_of(text).subspan(4001));
  CHECK(hasher.digest() == xxh3_128(bytes_of(text)));
  hasher.reset();
  CHECK(hasher.digest() == xxh3_128({}));
}

/// What the library's plain functions say, whatever kernel the processor has.
Digest plain_digest(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Digest digest;
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

TEST_CASE("every kernel of the hash gives the digests of the plain one") {
  std::string text;
  for (std::uint32_t i = 0; i < 300'000; ++i)
    text += static_cast<char>((i * 2654435761U) >> 24 ^ i / 251);
  for (std::size_t size = 0; size <= 1100; ++size)
    REQUIRE(xxh3_128(bytes_of(text).first(size)) == plain_digest(bytes_of(text).first(size)));
  for (const std::size_t piece : std::array<std::size_t, 7>{1, 63, 64, 255, 256, 1024, 65'537}) {
    Hasher hasher;
    for (std::size_t at = 0; at < text.size(); at += piece)
      hasher.update(bytes_of(text).subspan(at, std::min(piece, text.size() - at)));
    CAPTURE(piece);
    CHECK(hasher.digest() == plain_digest(bytes_of(text)));
  }
}

TEST_CASE("digests read back from lower-case hex alone") {
  const Digest digest = xxh3_128({});
  CHECK(digest_from_hex(to_hex(digest)) == digest);
  CHECK_FALSE(digest_from_hex("99AA06D3014798D86001C324468D497F"));
  CHECK_FALSE(digest_from_hex("99aa06d3014798d86001c324468d497"));
  CHECK_FALSE(digest_from_hex("99aa06d3014798d86001c324468d497g"));
  CHECK_FALSE(digest_from_hex(""));
}

TEST_CASE("JSON strings are escaped as Python's json.dumps does without ensure_ascii") {
  std::string out;
  append_json_string(out, std::string_view("\"\\/\b\f\n\r\t\x01\x1f\x7f é\0", 15));
  CHECK(out == "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f é\\u0000\"");
}

TEST_CASE("UTF-8 is told from other bytes") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("größe 重み \xf0\x9f\x98\x80"));
  for (const char* bad : {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    CHECK_FALSE(is_utf8(bad));
}

TEST_CASE("the JSON writer separates values and writes every type") {
  JsonWriter json;
  json.begin_object();
  json.key("a").begin_array().integer(1).signed_integer(-2).boolean(true).null().end_array();
  json.key("b").begin_object().end_object();
  json.key("c").number(0.1).key("d").number(1.0 / 0.0).key("e").string("x");
  json.end_object();
  CHECK(json.text() == R"({"a":[1,-2,true,null],"b":{},"c":0.1,"d":null,"e":"x"})");
  CHECK(JsonWriter().begin_array().number(-0.0).number(0.0).end_array().text() == "[-0.0,0]");
}

}  // namespace
}  // namespace synps
