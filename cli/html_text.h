#pragma once

#include <string>
#include <string_view>

namespace synps::cli {

/// `text` as HTML that shows it: for content, and for values of attributes in double quotes. Names
/// come from files; what is not UTF-8, or would change how the rest is shown, is escaped as for a
/// terminal.
std::string html_text(std::string_view text);

/// A number for people, which holds its exact value for programs; of a finite one.
std::string html_number(double value, std::string_view shown);

/// The last part of a path: pages do not tell in which folders files lie.
std::string file_name(std::string_view path);

}  // namespace synps::cli
