#include "trace/changed_operands.h"

#include <cctype>
#include <vector>

namespace cleave::trace {
namespace {

constexpr std::string_view marked = "Tensor(";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The word at or behind a place.
std::string word_from(const std::string& text, size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

// "Tensor y, Tensor" of "(Tensor y, Tensor)"; "Tensor y" of itself.
std::string items_of(std::string results) {
  while (!results.empty() && results.front() == ' ') results.erase(0, 1);
  while (!results.empty() && results.back() == ' ') results.pop_back();
  if (results.size() < 2 || results.front() != '(') return results;
  return results.substr(1, results.size() - 2);
}

}  // namespace

Result<FunctionalSignature> functional_signature(const std::string& signature) {
  const size_t arrow = signature.rfind("->");
  FunctionalSignature out{signature, signature};
  if (arrow == std::string::npos) return out;  // which parse_schema refuses
  if (signature.find(marked, arrow) != std::string::npos)
    return user_error("a result is marked as changed: mark the argument, which becomes a result");
  std::string& text = out.declared;
  std::vector<std::string> changed;
  for (size_t at; (at = text.find(marked)) != std::string::npos;) {
    at += marked.size() - 1;
    const size_t end = text.find(')', at);
    const std::string mark = text.substr(at, end == std::string::npos ? end : end - at + 1);
    if (mark.size() < 4 || mark[mark.size() - 2] != '!' || !is_word(mark[1]))
      return user_error("`Tensor{}`: expected Tensor, or Tensor(a!) where it is changed", mark);
    text.erase(at, mark.size());
    const std::string name = word_from(text, at);
    if (name.empty())
      return user_error(
          "`Tensor{}`: expected a name behind it: what is changed is one Tensor, "
          "which each call gives",
          mark);
    changed.push_back(name);
  }
  const size_t results = text.rfind("->") + 2;
  std::string items = items_of(text.substr(results));
  out.functional = text;
  if (changed.empty()) return out;
  for (const std::string& name : changed)
    items += fmt::format("{}Tensor {}", items.empty() ? "" : ", ", name);
  out.functional = fmt::format("{} ({})", text.substr(0, results), items);
  return out;
}

}  // namespace cleave::trace
