#include "ir/op_def.h"

#include <algorithm>

#include "base/edit_distance.h"
#include "ir/attrs.h"

namespace cleave {

template <class T>
Slot<T>::Slot(const Slot& from) = default;
template <class T>
Slot<T>::Slot(Slot&& from) noexcept = default;
template <class T>
Slot<T>& Slot<T>::operator=(const Slot& from) = default;
template <class T>
Slot<T>& Slot<T>::operator=(Slot&& from) noexcept = default;
template <class T>
Slot<T>::~Slot() = default;
template class Slot<InferFn>;
template class Slot<ReferenceFn>;
template class Slot<DecomposeFn>;
template class Slot<GradFn>;
template class Slot<LowerPtr>;
template class Slot<CostFn>;

Status OpRegistry::add(OpDef def) {
  if (by_name_.contains(def.name)) return user_error("operator '{}' is defined already", def.name);
  CLEAVE_TRY(def.schema, parse_schema(def.signature));
  for (ArgDef& arg : def.schema.args)
    if (arg.has_default && !arg.default_value.is_none()) {
      auto value = checked_attr(arg, arg.default_value);
      if (!value.ok()) return std::move(value).failure().within(def.name);
      arg.default_value = *std::move(value);
    }
  by_name_.emplace(def.name, ordered_.size());
  ordered_.push_back(std::make_shared<const OpDef>(std::move(def)));
  return {};
}

const OpDef* OpRegistry::find(std::string_view name) const {
  auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : ordered_[it->second].get();
}

std::string OpRegistry::nearest(std::string_view name) const {
  NearestName nearest(name);
  for (const auto& op : ordered_) nearest.offer(op->name);
  return nearest.best();
}

}  // namespace cleave
