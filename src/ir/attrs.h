// The attributes of a node: values by position in the operator's schema, without defaults.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "ir/schema.h"

namespace cleave {

class Attrs {
 public:
  // Returns nullptr if the attribute isn't given, so that the schema's default applies.
  const AttrValue* find(uint16_t arg) const;
  void set(uint16_t arg, AttrValue value);
  void erase(uint16_t arg);
  const std::vector<std::pair<uint16_t, AttrValue>>& given() const { return given_; }
  uint64_t hash() const;
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  std::vector<std::pair<uint16_t, AttrValue>> given_;  // sorted by position
};

// Returns whether checked_attr would return the value unchanged; cheaper than calling it.
bool is_canonical_attr(const ArgDef& arg, const AttrValue& value);

// Checks one attribute against its kind and converts it to canonical form: an int for a float
// becomes a float, and a number for a list becomes a list of it. none is accepted only where it is
// optional.
Result<AttrValue> checked_attr(const ArgDef& arg, AttrValue value);

}  // namespace cleave
