// Shared by native_layer_norm and its backward. The last dims of the input, as many as
// normalized_shape has, are normalised together; the dims before them are the rows.
//
//   input f32[2,3,4], normalized_shape=[3,4]:   rows [2], inner [3,4], statistics [2,1,1]
//
//   (C1) normalized_shape has at least one dim
//   (C2) it is the shape of the input's last dims
//   (C3) weight and bias, where given, have that shape
//   (C4) input is floating; weight and bias have its dtype, or f32 where that is bf16 or f16
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/norm_graph.h"
#include "op/sample_sets.h"

namespace cleave {

// The operand positions of one of the two operators.
struct NormOperands {
  int input, weight, bias;
};

Status check_layer_norm(const OpView& op, const NormOperands& at);

// Returns the row dims and the normalised dims, from the input's rank.
std::vector<int64_t> row_dims(const OpView& op, int input);
std::vector<int64_t> inner_dims(const OpView& op, int input);

// The compute dtype of both.
inline DType norm_dtype(DType t) { return t == DType::f64 ? t : DType::f32; }

std::vector<Reject> layer_norm_rejects(const std::string& name, const std::vector<bool>& mask);

}  // namespace cleave
