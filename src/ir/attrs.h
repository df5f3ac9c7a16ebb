// The attributes of a node: values by position in the operator's schema, defaults left out.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "ir/schema.h"

namespace cleave {

class Attrs {
 public:
  // nullptr where the attribute is not given (the schema's default holds).
  const AttrValue* find(uint16_t arg) const;
  void set(uint16_t arg, AttrValue value);
  void erase(uint16_t arg);
  const std::vector<std::pair<uint16_t, AttrValue>>& given() const { return given_; }
  uint64_t hash() const;
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  std::vector<std::pair<uint16_t, AttrValue>> given_;  // sorted by position
};

// Whether checked_attr would give the value as it is: cheap where the text or a rule was careful.
bool is_canonical_attr(const ArgDef& arg, const AttrValue& value);

// One attribute, checked against its kind and brought to canonical form (an int for a float becomes
// one, a number for a list becomes a list of it, none is dropped with the default).
Result<AttrValue> checked_attr(const ArgDef& arg, AttrValue value);

}  // namespace cleave
