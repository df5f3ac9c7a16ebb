#include "import/exported/plain_name.h"

namespace cleave::exported {
namespace {

constexpr size_t longest_name = 1024;

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '/';
}

}  // namespace

std::string plain_name(const std::string& name) {
  std::string out;
  for (const char c : name.substr(0, longest_name)) out += is_name_letter(c) ? c : '_';
  return out.empty() ? "_" : out;
}

}  // namespace cleave::exported
