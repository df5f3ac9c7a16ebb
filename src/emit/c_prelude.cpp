// The text before the kernels: fixed-width types, the functions of libm, and those of the headers
// of this folder, each included only if a kernel uses it. The build writes the table of them
// (cmake/write_prelude.cmake), in this order:
//
//   kernel_types, kernel_macros    what all else is written with
//   primitives                     for one element
//   kernel_functions               integer division, conversions, Philox for one element
//   elementary_functions           for one element
//   lane_types, primitives         for 16 lanes
//   lane_words                     for 16 lanes
//   elementary_functions           for 16 lanes
//   lane_types, primitives, lane_words    for 64 lanes
//   lane_memory, lane_families     for 16 lanes, and for 64 as four times 16
//   lane_philox                    random bits for 16 lanes
#include <cctype>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "emit/c_source.h"

namespace cleave::emit {
namespace {

struct Item {
  std::string_view name, text;
};

// A definition precedes its uses.
constexpr Item items[] = {
#include "prelude.inc"
};

void add_words(std::string_view text, std::unordered_set<std::string_view>& to) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end > at) to.insert(text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

std::string c_prelude() {
  std::string out;
  for (const Item& i : items) (out += i.text) += '\n';
  return out;
}

std::string c_prelude_for(const std::string& kernels) {
  std::unordered_set<std::string_view> wanted;
  add_words(kernels, wanted);
  std::vector<bool> used(std::size(items));
  for (size_t i = used.size(); i-- > 0;) {
    used[i] = wanted.contains(items[i].name);
    if (used[i]) add_words(items[i].text, wanted);
  }
  std::string out;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) (out += items[i].text) += '\n';
  return out;
}

std::string_view c_function(std::string_view name) {
  for (const Item& i : items)
    if (i.name == name) return i.text;
  return {};
}

}  // namespace cleave::emit
