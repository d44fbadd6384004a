#include "html_text.h"

#include <fmt/core.h>

#include "synps/error.h"

namespace synps::cli {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : escape_for_display(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_number(double value, std::string_view shown) {
  return fmt::format("<data value=\"{}\">{}</data>", value, shown);
}

std::string file_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace synps::cli
