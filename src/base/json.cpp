#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cleave {
namespace {

using Library = nlohmann::json;

// With U+FFFD in the place of what isn't UTF-8.
std::string text_of(const Library& value) {
  return value.dump(-1, ' ', false, Library::error_handler_t::replace);
}

}  // namespace

Json::Json() = default;
Json::Json(bool v) : literal_(v ? "true" : "false") {}
Json::Json(double v) : literal_(text_of(v)) {}
Json::Json(const char* v) : Json(std::string_view(v)) {}
Json::Json(const std::string& v) : Json(std::string_view(v)) {}
Json::Json(std::string_view v) : literal_(text_of(v)) {}
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
  j.literal_ = text_of(v);
  return j;
}

Json Json::number(uint64_t v) {
  Json j;
  j.literal_ = text_of(v);
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
  try {
    return Library(text).dump();
  } catch (const Library::exception&) {  // how the library says that a text is no UTF-8
    return std::nullopt;
  }
}

}  // namespace cleave
