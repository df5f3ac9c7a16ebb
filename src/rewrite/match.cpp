#include "rewrite/match.h"

#include <algorithm>

namespace cleave {

const Capture& Match::capture(std::string_view name) const {
  const auto it = std::ranges::find(*names_, name);
  if (it == names_->end()) throw_bug("a rule asks for '{}', which its pattern doesn't have", name);
  return captures_[it - names_->begin()];
}

bool Match::knows(std::string_view name) const {
  return std::ranges::find(*names_, name) != names_->end();
}

ValueId Match::operator[](std::string_view name) const {
  const Capture& c = capture(name);
  return c.values.empty() ? ValueId{} : c.values[0];
}

NodeId Match::node(std::string_view name) const {
  const Capture& c = capture(name);
  return c.nodes.empty() ? NodeId{} : c.nodes[0];
}

int64_t Match::integer(std::string_view name) const {
  const Dim* d = attr(name).get<Dim>();
  return d && d->is_const() ? d->value() : 0;
}

std::vector<int64_t> Match::integers(std::string_view name) const {
  std::vector<int64_t> out;
  if (const AttrList* list = attr(name).get<AttrList>())
    for (const AttrValue& v : *list) {
      const Dim* d = v.get<Dim>();
      out.push_back(d && d->is_const() ? d->value() : 0);
    }
  return out;
}

}  // namespace cleave
