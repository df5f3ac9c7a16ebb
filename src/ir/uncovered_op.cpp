#include "ir/uncovered_op.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr std::string_view by_values =
    "the size of its result depends on values; keep the mask and use where, masked_fill or "
    "index_put";
constexpr std::string_view no_strides =
    "values are row-major in a graph, and where they lie in memory is lowering's choice";

constexpr UncoveredOp table[] = {
    {"_assert_async", "it has no result; check the values before they are given to the program"},
    {"_assert_scalar", "it has no result; the range of a symint says the same"},
    {"_assert_tensor_metadata", "it has no result, and types are checked when a graph is read"},
    {"_local_scalar_dense",
     "it hands a value to the host, which has no part in a graph; keep the "
     "tensor of one element, or give the number as an input"},
    {"_unique2", by_values},
    {"masked_select", by_values},
    {"nonzero",
     "the size of its result depends on values; nonzero_static has a given size, and "
     "where, masked_fill and index_put take the mask itself"},
    {"sym_storage_offset", no_strides},
    {"sym_stride", no_strides},
};

constexpr bool before(const UncoveredOp& op, std::string_view name) { return op.name < name; }

}  // namespace

std::span<const UncoveredOp> uncovered_ops() { return table; }

const UncoveredOp* find_uncovered(std::string_view name) {
  const auto* at = std::lower_bound(std::begin(table), std::end(table), name, before);
  return at != std::end(table) && at->name == name ? at : nullptr;
}

}  // namespace cleave
