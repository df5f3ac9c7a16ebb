#include "ir/attrs.h"

#include <algorithm>

namespace cleave {

const AttrValue* Attrs::find(uint16_t arg) const {
  for (const auto& [k, v] : given_)
    if (k == arg) return &v;
  return nullptr;
}

void Attrs::set(uint16_t arg, AttrValue value) {
  auto at = std::lower_bound(given_.begin(), given_.end(), arg,
                             [](const auto& p, uint16_t k) { return p.first < k; });
  if (at != given_.end() && at->first == arg)
    at->second = std::move(value);
  else
    given_.emplace(at, arg, std::move(value));
}

void Attrs::erase(uint16_t arg) {
  std::erase_if(given_, [&](const auto& p) { return p.first == arg; });
}

uint64_t Attrs::hash() const {
  uint64_t h = 0;
  for (const auto& [k, v] : given_) h = (h ^ (v.hash() + k)) * 0x9e3779b97f4a7c15u;
  return h;
}

namespace {

std::string_view kind_text(ArgKind k) {
  switch (k) {
    case ArgKind::tensor: return "a number";
    case ArgKind::integer: return "an integer";
    case ArgKind::floating: return "a floating number";
    case ArgKind::number: return "a number";
    case ArgKind::boolean: return "true or false";
    case ArgKind::string: return "a string";
    case ArgKind::dtype: return "a dtype";
    case ArgKind::memory_format: return "a memory format";
    case ArgKind::graph: return "a graph";
  }
  return "";
}

Result<AttrValue> checked_item(const ArgDef& arg, AttrValue value) {
  auto wrong = [&] {
    return user_error("{} = {}: expected {}{}", arg.name, value.text(),
                      arg.list ? "a list, each " : "", kind_text(arg.kind));
  };
  switch (arg.kind) {
    case ArgKind::tensor:
    case ArgKind::number:
      if (!value.is_number()) return wrong();
      return value;  // an integer may be symbolic: a mean divides by s0*4
    case ArgKind::integer: {
      auto* d = value.get<Dim>();
      if (!d) return wrong();
      if (!arg.symbolic && !d->is_const())
        return user_error("{} = {}: expected an integer without symbols", arg.name, value.text());
      return value;
    }
    case ArgKind::floating:
      if (auto* d = value.get<Dim>(); d && d->is_const())
        return AttrValue(static_cast<double>(d->value()));
      if (!value.get<double>()) return wrong();
      return value;
    case ArgKind::boolean:
      if (!value.get<bool>()) return wrong();
      return value;
    case ArgKind::string:
      if (!value.get<std::string>()) return wrong();
      return value;
    case ArgKind::dtype:
      if (!value.get<DType>()) return wrong();
      return value;
    case ArgKind::memory_format:
      if (!value.get<MemoryFormat>()) return wrong();
      return value;
    case ArgKind::graph:
      if (!value.get<GraphRef>()) return wrong();
      return value;
  }
  return value;
}

bool is_canonical_item(const ArgDef& arg, const AttrValue& value) {
  switch (arg.kind) {
    case ArgKind::tensor:
    case ArgKind::number:
      if (const Dim* d = value.get<Dim>()) return d->is_const();
      return value.get<bool>() || value.get<double>();
    case ArgKind::integer: {
      const Dim* d = value.get<Dim>();
      return d && (arg.symbolic || d->is_const());
    }
    case ArgKind::floating: return value.get<double>();
    case ArgKind::boolean: return value.get<bool>();
    case ArgKind::string: return value.get<std::string>();
    case ArgKind::dtype: return value.get<DType>();
    case ArgKind::memory_format: return value.get<MemoryFormat>();
    case ArgKind::graph: return value.get<GraphRef>();
  }
  return false;
}

}  // namespace

bool is_canonical_attr(const ArgDef& arg, const AttrValue& value) {
  if (value.is_none()) return arg.optional;
  if (!arg.list || arg.is_operand()) return is_canonical_item(arg, value);
  const AttrList* list = value.get<AttrList>();
  return list && std::all_of(list->begin(), list->end(),
                             [&](const AttrValue& item) { return is_canonical_item(arg, item); });
}

Result<AttrValue> checked_attr(const ArgDef& arg, AttrValue value) {
  if (value.is_none()) {
    if (!arg.optional) return user_error("{} = none: expected {}", arg.name, kind_text(arg.kind));
    return value;
  }
  if (!arg.list || arg.is_operand()) return checked_item(arg, std::move(value));
  AttrList out;
  if (auto* list = value.get<AttrList>()) {
    for (const AttrValue& v : *list) {
      if (v.is_none() && arg.optional_item) {
        out.emplace_back();
        continue;
      }
      CLEAVE_TRY(AttrValue item, checked_item(arg, v));
      out.push_back(std::move(item));
    }
  } else {
    CLEAVE_TRY(AttrValue item, checked_item(arg, std::move(value)));
    out.push_back(std::move(item));
  }
  return AttrValue(std::move(out));
}

}  // namespace cleave
