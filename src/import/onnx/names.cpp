#include "import/onnx/names.h"

#include <algorithm>

namespace cleave::onnx {
namespace {

constexpr size_t longest_name = 200;

}  // namespace

std::string plain_name(const std::string& name) {
  std::string out = name.substr(0, longest_name);
  for (char& c : out) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '-' || c == '/';
    if (!fine) c = '_';
  }
  return out.empty() ? "value" : out;
}

std::string symbol_name(const std::string& param) {
  std::string out = plain_name(param);
  for (char& c : out)
    if (c == '.' || c == '-' || c == '/') c = '_';
  static constexpr const char* words[] = {"none",     "true", "false", "inf", "nan",
                                          "floordiv", "mod",  "min",   "max"};
  const bool digit = out[0] >= '0' && out[0] <= '9';
  if (digit || std::ranges::find(words, out) != std::end(words)) out = "s_" + out;
  return out;
}

}  // namespace cleave::onnx
