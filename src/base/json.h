// JSON that is written: a value, and its text in one line.
//
//   Json out = {{"name", "gpt"}, {"steps", 3}};
//   out["losses"] = Json::array();
//   out["losses"].push_back(2.5);
//   out.text();                          // {"name":"gpt","steps":3,"losses":[2.5]}
//
// Members keep their order. nlohmann::json writes the numbers and strings; only json.cpp includes
// it, as its templates are slow to compile. Not for reading: import/ and tool/ use simdjson.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave {

class Json {
 public:
  struct Member;

  Json();  // null
  Json(bool v);
  Json(double v);  // null where it is no number
  Json(std::signed_integral auto v) : Json(number(static_cast<int64_t>(v))) {}
  Json(std::unsigned_integral auto v) : Json(number(static_cast<uint64_t>(v))) {}
  Json(const char* v);
  Json(const std::string& v);
  Json(std::string_view v);
  Json(const std::vector<std::string>& v);
  Json(std::initializer_list<Member> members);  // an object
  Json(const Json& from);
  Json(Json&& from) noexcept;
  Json& operator=(const Json& from);
  Json& operator=(Json&& from) noexcept;
  ~Json();

  static Json array();
  static Json object();

  // The member of an object; added, as null, where there is none. A null becomes an object.
  Json& operator[](std::string_view key);
  // One more item of an array. A null becomes an array.
  void push_back(Json item);

  std::string text() const;

 private:
  enum class Kind : uint8_t { literal, array, object };
  static Json number(int64_t v);
  static Json number(uint64_t v);
  void append_to(std::string& out) const;

  Kind kind_ = Kind::literal;
  std::string literal_ = "null";   // as it is written
  std::vector<std::string> keys_;  // of an object, one for each item
  std::vector<Json> items_;
};

struct Json::Member {
  std::string_view key;
  Json value;
};

// "text" with JSON's escapes; nullopt where it isn't UTF-8.
std::optional<std::string> json_string(std::string_view text);

}  // namespace cleave
