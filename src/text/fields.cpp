#include "text/fields.h"

#include "base/printable.h"
#include "text/unicode.h"

namespace cleave::text {
namespace {

Failure expected(std::string_view place, std::string_view kind) {
  return user_error("{}: expected {}", place, kind);
}

}  // namespace

Result<std::string> text_of(JsonElement e, std::string_view place) {
  std::string_view s;
  if (e.get_string().get(s) != simdjson::SUCCESS) return expected(place, "a text");
  return std::string(s);
}

Result<int64_t> natural_of(JsonElement e, std::string_view place) {
  int64_t v = 0;
  if (e.get_int64().get(v) != simdjson::SUCCESS || v < 0 || v >= UINT32_MAX)
    return expected(place, "an integer in [0, 2^32 - 1)");
  return v;
}

Result<Fields> Fields::of(JsonElement e, std::string place, int& regexes) {
  JsonObject object;
  if (e.get_object().get(object) != simdjson::SUCCESS) return expected(place, "an object");
  return Fields(object, std::move(place), regexes);
}

std::optional<JsonElement> Fields::maybe(std::string_view key) const {
  JsonElement e;
  if (object_.at_key(key).get(e) != simdjson::SUCCESS || e.is_null()) return std::nullopt;
  return e;
}

Result<JsonElement> Fields::member(std::string_view key) const {
  const auto e = maybe(key);
  if (!e) return user_error("{}: \"{}\" is missing", place_, key);
  return *e;
}

Result<std::string> Fields::text(std::string_view key) const {
  CLEAVE_TRY(const JsonElement e, member(key));
  return text_of(e, place_of(key));
}

Result<std::optional<std::string>> Fields::maybe_text(std::string_view key) const {
  const auto e = maybe(key);
  if (!e) return std::optional<std::string>();
  CLEAVE_TRY(std::string text, text_of(*e, place_of(key)));
  return std::optional(std::move(text));
}

Result<bool> Fields::boolean(std::string_view key) const {
  CLEAVE_TRY(const JsonElement e, member(key));
  bool v = false;
  if (e.get_bool().get(v) != simdjson::SUCCESS) return expected(place_of(key), "true or false");
  return v;
}

Result<bool> Fields::boolean(std::string_view key, bool otherwise) const {
  if (!maybe(key)) return otherwise;
  return boolean(key);
}

Result<int64_t> Fields::natural(std::string_view key) const {
  CLEAVE_TRY(const JsonElement e, member(key));
  return natural_of(e, place_of(key));
}

Result<char32_t> Fields::character(std::string_view key) const {
  CLEAVE_TRY(const std::string s, text(key));
  if (s.empty() || code_point_at(s, 0).bytes != s.size())
    return expected(place_of(key), "one character");
  return code_point_at(s, 0).value;
}

Result<JsonArray> Fields::list(std::string_view key) const {
  CLEAVE_TRY(const JsonElement e, member(key));
  JsonArray array;
  if (e.get_array().get(array) != simdjson::SUCCESS) return expected(place_of(key), "a list");
  return array;
}

Result<Fields> Fields::fields(std::string_view key) const {
  CLEAVE_TRY(const JsonElement e, member(key));
  return of(e, place_of(key), *regexes_);
}

Result<Regex> Fields::pattern(std::string_view key) const {
  CLEAVE_TRY(const Fields f, fields(key));
  if (f.maybe("String")) {
    CLEAVE_TRY(const std::string literal, f.text("String"));
    auto regex = Regex::literal(literal);
    if (!regex.ok()) return std::move(regex).failure().within(f.place());
    return regex;
  }
  CLEAVE_TRY(const std::string expression, f.text("Regex"));
  if (--*regexes_ < 0) return unsupported("{}: more regular expressions than are covered", place_);
  auto regex = Regex::read(expression);
  if (!regex.ok()) return std::move(regex).failure().within(f.place());
  return regex;
}

Failure Fields::unknown_type() const {
  const auto name = type();
  if (!name.ok()) return name.failure();
  return unsupported("{}: the type {} isn't covered", place_, printable(*name));
}

}  // namespace cleave::text
