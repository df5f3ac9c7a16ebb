// The dtype in which each operator runs under autocast.
//
//   lower      its floating operands become the lower dtype: products, convolutions, attention
//   f32        its floating operands become f32: losses, products of all elements, paddings
//   promote    its floating operands become f32 if one of them is, else the lower dtype
//   declared   its operands keep the dtypes of the program: operators with a subgraph, and those of
//              the host program, whose code cleave doesn't see
//   follow     all others take their operands as they are
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
  std::string_view aten;  // PyTorch's functions, if their names differ
};
// The rows for lower, f32 and promote.
std::span<const CastRow> cast_rows();

CastPolicy cast_policy(const OpDef& op);

// Whether the view holds every element of its operand, so that casts commute with it.
bool holds_all(const OpDef& view);

}  // namespace cleave
