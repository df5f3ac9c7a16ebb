#include "emit/used_text.h"

#include <cctype>
#include <unordered_set>
#include <vector>

namespace cleave::emit {
namespace {

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

std::string used_text(std::span<const Definition> table, std::string_view text) {
  std::unordered_set<std::string_view> wanted;
  add_words(text, wanted);
  std::vector<bool> used(table.size());
  for (size_t i = used.size(); i-- > 0;) {
    used[i] = wanted.contains(table[i].name);
    if (used[i]) add_words(table[i].text, wanted);
  }
  std::string out;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) (out += table[i].text) += table[i].text.ends_with('\n') ? "" : "\n";
  return out;
}

}  // namespace cleave::emit
