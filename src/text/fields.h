// Members of an object of tokenizer.json: what is missing or of another kind is an error that names
// the place.
//
//   CLEAVE_TRY(const bool lowercase, fields.boolean("lowercase"));
//   // normalizer.lowercase: expected true or false
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/regex.h"

namespace cleave::text {

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonArray = simdjson::dom::array;

class Fields {
 public:
  // Error (user): it's no object. `regexes` counts down those that the file may still have.
  static Result<Fields> of(JsonElement e, std::string place, int& regexes);

  const std::string& place() const { return place_; }
  JsonObject object() const { return object_; }
  std::string place_of(std::string_view key) const { return place_ + "." + std::string(key); }
  // Nothing where it isn't there or null.
  std::optional<JsonElement> maybe(std::string_view key) const;
  Result<JsonElement> member(std::string_view key) const;

  Result<std::string> text(std::string_view key) const;
  Result<std::optional<std::string>> maybe_text(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;
  Result<bool> boolean(std::string_view key, bool otherwise) const;
  Result<int64_t> natural(std::string_view key) const;     // an integer in [0, 2^32 - 1)
  Result<char32_t> character(std::string_view key) const;  // a text of one code point
  Result<JsonArray> list(std::string_view key) const;
  Result<Fields> fields(std::string_view key) const;
  // Calls f(Fields) -> Status for each object of a list.
  template <class F>
  Status for_each(std::string_view key, F&& f) const {
    CLEAVE_TRY(const JsonArray array, list(key));
    size_t number = 0;
    for (const JsonElement e : array) {
      CLEAVE_TRY(const Fields item,
                 of(e, fmt::format("{}[{}]", place_of(key), number++), *regexes_));
      CLEAVE_CHECK(f(item));
    }
    return {};
  }
  // {"String": " "} or {"Regex": "\\s+"}, which isn't empty.
  Result<Regex> pattern(std::string_view key) const;
  // "type".
  Result<std::string> type() const { return text("type"); }
  Failure unknown_type() const;

 private:
  Fields(JsonObject object, std::string place, int& regexes)
      : object_(object), place_(std::move(place)), regexes_(&regexes) {}
  JsonObject object_;
  std::string place_;
  int* regexes_;
};

// A text, or an integer in [0, 2^32 - 1); the error names the place.
Result<std::string> text_of(JsonElement e, std::string_view place);
Result<int64_t> natural_of(JsonElement e, std::string_view place);

}  // namespace cleave::text
