#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace synps::cli {

/// 1234567 as "1,234,567".
std::string grouped(std::uint64_t value);

/// "1.18 MiB"; "512 B" below 1 KiB.
std::string human_bytes(std::uint64_t bytes);

/// "1,234,567 bytes (1.18 MiB)"; only "512 bytes" below 1 KiB.
std::string exact_bytes(std::uint64_t bytes);

/// "1 weight", "1,200 weights".
std::string counted(std::uint64_t count, std::string_view noun);

/// "53.1%"; "-" of nothing.
std::string percent(std::uint64_t part, std::uint64_t whole);

/// Bits that each of `elements` takes, with two decimals; "-" when there are none.
std::string bits_each(std::uint64_t bytes, std::uint64_t elements);

/// `package:export` as short as a policy may write it: "q8_0" for "q8_0:q8_0".
std::string short_codec(const std::string& id);

/// Four significant digits, in scientific notation when far from 1.
std::string brief_number(double value);

/// Code points of UTF-8 `text`: the columns it takes, wide characters apart.
std::size_t display_width(std::string_view text) noexcept;

/// `text` in lines that end by column `width`, broken at spaces; a longer word stays whole. The
/// first line goes to where `start` columns are used already; the others start with `indent`
/// spaces.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent,
                    std::size_t start = 0);

/// Columns of the terminal that standard output is, or 100 when it is none.
std::size_t output_width() noexcept;

}  // namespace synps::cli
