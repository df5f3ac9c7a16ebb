// Checked access to JSON of .pt2 files: what isn't as the schema says is an error that names where.
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave::exported {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;
using Array = simdjson::dom::array;

// Parses a text; nested at most 64 deep. NaN, Infinity and -Infinity, which Python's json writes as
// bare words, are read as texts (floating_of). The element lives as long as the parser.
Result<Element> parse_json(simdjson::dom::parser& parser, std::string_view text);

Result<Object> object_of(Element e, std::string_view what);
Result<Array> array_of(Element e, std::string_view what);
Result<std::string> text_of(Element e, std::string_view what);
Result<int64_t> integer_of(Element e, std::string_view what);
Result<double> floating_of(Element e, std::string_view what);  // "Infinity", "-Infinity", "NaN" too
Result<bool> boolean_of(Element e, std::string_view what);

// The member of an object; an error if it isn't there.
Result<Element> member(Object o, std::string_view key);
// The same; nothing if it isn't there or null.
std::optional<Element> maybe_member(Object o, std::string_view key);

// A union of the schema: an object with one member that isn't null, such as {"as_int": 3}.
struct Case {
  std::string_view tag;
  Element value;
};
Result<Case> case_of(Element e, std::string_view what);

}  // namespace cleave::exported
