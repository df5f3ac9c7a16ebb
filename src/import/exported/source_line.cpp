#include "import/exported/source_line.h"

#include <algorithm>
#include <charconv>

namespace cleave::exported {
namespace {

constexpr size_t longest_file = 4096;

bool is_plain(std::string_view file) {
  return !file.empty() && file.size() <= longest_file &&
         std::ranges::all_of(file, [](char c) { return c >= 0x20 && c < 0x7f && c != '\\'; });
}

}  // namespace

void set_source_line(std::string_view trace, Node& node) {
  constexpr std::string_view begin = "File \"", middle = "\", line ";
  for (size_t at = trace.find(begin); at != trace.npos; at = trace.find(begin, at)) {
    at += begin.size();
    const size_t end = trace.find('"', at);
    if (end == trace.npos) return;
    const std::string_view file = trace.substr(at, end - at);
    if (!trace.substr(end).starts_with(middle)) continue;
    const char* const digits = trace.data() + end + middle.size();
    int64_t line = 0;
    std::from_chars(digits, trace.data() + trace.size(), line);
    const bool of_torch = file.find("/torch/") != file.npos || file.starts_with('<');
    if (!is_plain(file) || of_torch || line < 1 || line > INT32_MAX) continue;
    const size_t slash = file.rfind('/');
    node.file = file.substr(slash == file.npos ? 0 : slash + 1);
    node.line = line;
  }
}

}  // namespace cleave::exported
