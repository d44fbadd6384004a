#pragma once

#include <cstddef>
#include <string_view>

namespace synps::cli {

/// The colour of a codec in every report: a number of the style sheet. Common codecs have one of
/// their own, others share them, and what no codec decodes is grey.
std::size_t codec_colour(std::string_view codec) noexcept;

}  // namespace synps::cli
