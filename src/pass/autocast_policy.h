// In what dtype each operator runs under autocast.
//
//   lower      its floating operands become the lower dtype: products, convolutions, attention
//   f32        its floating operands become f32: losses, products of all elements, paddings
//   promote    its floating operands become f32 where one of them is, else the lower dtype
//   declared   its operands keep the dtypes that the program gave them: what has a subgraph, and
//              operators of the host program, whose code cleave doesn't see
//   follow     everything else takes its operands as they come
//
// f64, integers and bool are never cast.
#pragma once
#include <span>
#include <string_view>

#include "ir/op_def.h"

namespace cleave {

enum class CastPolicy : uint8_t { lower, f32, promote, declared, follow };

struct CastRow {
  std::string_view op;
  CastPolicy policy;
  std::string_view aten;  // PyTorch's functions, where they have other names
};
// lower, f32 and promote.
std::span<const CastRow> cast_rows();

CastPolicy cast_policy(const OpDef& op);

// Views that hold every element of their operand: casting after them is casting before them.
bool holds_all(const OpDef& view);

}  // namespace cleave
