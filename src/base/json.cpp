#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cleave {
namespace {

struct Utf8 {
  size_t bytes;  // of a character, or of what can't be one, at least 1
  bool ok;
};

// The character that `text`, which isn't empty, begins with. No overlong forms, no surrogates.
Utf8 first_character(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char head = at(0);
  if (head < 0x80) return {1, true};
  const size_t length = head >= 0xf0 ? 4 : head >= 0xe0 ? 3 : 2;
  if (head < 0xc2 || head > 0xf4) return {1, false};
  // The least and the greatest second byte.
  const unsigned char lo = head == 0xe0 ? 0xa0 : head == 0xf0 ? 0x90 : 0x80;
  const unsigned char hi = head == 0xed ? 0x9f : head == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    const bool ok =
        i < text.size() && at(i) >= (i == 1 ? lo : 0x80) && at(i) <= (i == 1 ? hi : 0xbf);
    if (!ok) return {i, false};
  }
  return {length, true};
}

void append_escaped(std::string& out, std::string_view character) {
  const char c = character[0];
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
  }
  if (static_cast<unsigned char>(c) < 0x20)
    out += fmt::format("\\u{:04x}", static_cast<int>(c));
  else
    out += character;
}

// With U+FFFD for what isn't UTF-8; `ok` says whether there was none.
std::string quoted_json(std::string_view text, bool& ok) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8 next = first_character(text);
    ok = ok && next.ok;
    if (next.ok)
      append_escaped(out, text.substr(0, next.bytes));
    else
      out += "\xef\xbf\xbd";
    text.remove_prefix(next.bytes);
  }
  return out + '"';
}

std::string number_text(double v) {
  if (!std::isfinite(v)) return "null";
  std::string s = fmt::format("{}", v);  // the shortest that reads back the same
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

}  // namespace

Json::Json() = default;
Json::Json(bool v) : literal_(v ? "true" : "false") {}
Json::Json(double v) : literal_(number_text(v)) {}
Json::Json(const char* v) : Json(std::string_view(v)) {}
Json::Json(const std::string& v) : Json(std::string_view(v)) {}
Json::Json(std::string_view v) {
  bool ok = true;
  literal_ = quoted_json(v, ok);
}
Json::Json(const std::vector<std::string>& v) : kind_(Kind::array), items_(v.begin(), v.end()) {}
Json::Json(std::initializer_list<Member> members) : kind_(Kind::object) {
  for (const Member& m : members) (*this)[m.key] = m.value;
}
Json::Json(const Json& from) = default;
Json::Json(Json&& from) noexcept = default;
Json& Json::operator=(const Json& from) = default;
Json& Json::operator=(Json&& from) noexcept = default;
Json::~Json() = default;

Json Json::array() {
  Json j;
  j.kind_ = Kind::array;
  return j;
}

Json Json::object() {
  Json j;
  j.kind_ = Kind::object;
  return j;
}

Json Json::number(int64_t v) {
  Json j;
  j.literal_ = fmt::format("{}", v);
  return j;
}

Json Json::number(uint64_t v) {
  Json j;
  j.literal_ = fmt::format("{}", v);
  return j;
}

Json& Json::operator[](std::string_view key) {
  kind_ = Kind::object;
  const auto found = std::ranges::find(keys_, key);
  if (found != keys_.end()) return items_[static_cast<size_t>(found - keys_.begin())];
  keys_.emplace_back(key);
  return items_.emplace_back();
}

void Json::push_back(Json item) {
  kind_ = Kind::array;
  items_.push_back(std::move(item));
}

void Json::append_to(std::string& out) const {
  if (kind_ == Kind::literal) {
    out += literal_;
    return;
  }
  const bool is_object = kind_ == Kind::object;
  out += is_object ? '{' : '[';
  for (size_t i = 0; i < items_.size(); ++i) {
    if (i > 0) out += ',';
    if (is_object) out += Json(keys_[i]).literal_ + ':';
    items_[i].append_to(out);
  }
  out += is_object ? '}' : ']';
}

std::string Json::text() const {
  std::string out;
  append_to(out);
  return out;
}

std::optional<std::string> json_string(std::string_view text) {
  bool ok = true;
  std::string out = quoted_json(text, ok);
  return ok ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace cleave
