// Cleave's operators and, under names that they leave free, the toys.
#pragma once
#include "op/registry.h"
#include "test/ir/toy_ops.h"

namespace cleave {

inline OpRegistry all_ops() {
  OpRegistry ops = value_or_throw(core_ops());
  const OpRegistry toys = toy_ops();
  for (const auto& toy : toys.all())
    if (!ops.find(toy->name)) value_or_throw(ops.add(*toy));
  return ops;
}

}  // namespace cleave
