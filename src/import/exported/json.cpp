#include "import/exported/json.h"

#include <cmath>
#include <limits>

#include "base/printable.h"

namespace cleave::exported {
namespace {

constexpr size_t deepest_nesting = 64;

Failure expected(std::string_view what, std::string_view kind) {
  return user_error("{}: expected {}", what, kind);
}

// The text with Python's bare words for what is no finite number in quotes.
std::string with_quoted_words(std::string_view text) {
  std::string out;
  bool in_text = false;
  for (size_t k = 0; k < text.size(); ++k) {
    std::string_view word;
    if (!in_text)
      for (const std::string_view w : {"NaN", "Infinity", "-Infinity"})
        if (text.substr(k, w.size()) == w) word = w;
    if (!word.empty()) {
      out.append("\"").append(word).append("\"");
      k += word.size() - 1;
      continue;
    }
    out += text[k];
    if (in_text && text[k] == '\\' && k + 1 < text.size())
      out += text[++k];
    else if (text[k] == '"')
      in_text = !in_text;
  }
  return out;
}

}  // namespace

Result<Element> parse_json(simdjson::dom::parser& parser, std::string_view text) {
  if (parser.allocate(std::max<size_t>(text.size(), 64), deepest_nesting) != simdjson::SUCCESS)
    return user_error("no memory for {} bytes of JSON", text.size());
  Element root;
  auto error = parser.parse(text.data(), text.size()).get(root);
  if (error == simdjson::NUMBER_ERROR || error == simdjson::TAPE_ERROR) {
    const std::string quoted = with_quoted_words(text);
    if (quoted.size() != text.size()) error = parser.parse(quoted).get(root);
  }
  if (error == simdjson::DEPTH_ERROR)
    return user_error("JSON: nested more than {} deep", deepest_nesting);
  if (error != simdjson::SUCCESS) return user_error("JSON: {}", simdjson::error_message(error));
  return root;
}

Result<Object> object_of(Element e, std::string_view what) {
  Object o;
  if (e.get_object().get(o) != simdjson::SUCCESS) return expected(what, "an object");
  return o;
}

Result<Array> array_of(Element e, std::string_view what) {
  Array a;
  if (e.get_array().get(a) != simdjson::SUCCESS) return expected(what, "a list");
  return a;
}

Result<std::string> text_of(Element e, std::string_view what) {
  std::string_view s;
  if (e.get_string().get(s) != simdjson::SUCCESS) return expected(what, "a text");
  return std::string(s);
}

Result<int64_t> integer_of(Element e, std::string_view what) {
  int64_t v = 0;
  if (e.get_int64().get(v) != simdjson::SUCCESS) return expected(what, "an integer of 64 bits");
  return v;
}

Result<double> floating_of(Element e, std::string_view what) {
  std::string_view s;
  if (e.get_string().get(s) == simdjson::SUCCESS) {
    if (s == "Infinity") return std::numeric_limits<double>::infinity();
    if (s == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (s == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  double v = 0;
  if (e.get_double().get(v) != simdjson::SUCCESS) return expected(what, "a number");
  return v;
}

Result<bool> boolean_of(Element e, std::string_view what) {
  bool v = false;
  if (e.get_bool().get(v) != simdjson::SUCCESS) return expected(what, "true or false");
  return v;
}

Result<Element> member(Object o, std::string_view key) {
  Element e;
  if (o.at_key(key).get(e) != simdjson::SUCCESS) return user_error("\"{}\" is missing", key);
  return e;
}

std::optional<Element> maybe_member(Object o, std::string_view key) {
  Element e;
  if (o.at_key(key).get(e) != simdjson::SUCCESS || e.is_null()) return std::nullopt;
  return e;
}

Result<Case> case_of(Element e, std::string_view what) {
  CLEAVE_TRY(const Object o, object_of(e, what));
  std::optional<Case> found;
  for (const simdjson::dom::key_value_pair field : o) {
    if (field.value.is_null()) continue;
    if (found)
      return user_error("{}: {} and {} exclude each other", what, printable(found->tag),
                        printable(field.key));
    found = Case{field.key, field.value};
  }
  if (!found) return expected(what, "an object with one member");
  return *found;
}

}  // namespace cleave::exported
