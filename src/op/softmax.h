// Shared by _softmax, _log_softmax and their backwards. All four work along one dim:
//
//   _softmax(self; dim, half_to_float), _log_softmax
//     (C1) dim in range; a 0-d self counts as one dim   (C2) self is floating
//     (C3) half_to_float: self is bf16 or f16, the result f32
//   _softmax_backward_data(grad_output, output; dim, input_dtype), _log_softmax_backward_data
//     (C1) dim in range   (C2) both are floating, of one dtype and shape
//     (C3) input_dtype is that dtype, or bf16 or f16 where that is f32
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/line_kernel.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"

namespace cleave {

inline constexpr Trait softmax_traits = Trait::reduction | Trait::fusible | Trait::recomputable;

Result<Types> infer_softmax(const OpView& op);
Result<Types> infer_softmax_backward(const OpView& op);

// The dim as a list, empty for a 0-d operand.
std::vector<int64_t> softmax_dims(const OpView& op);
// f32 for bf16 and f16: the compute dtype of decompositions.
DType softmax_dtype(DType t);

// y[line] = f(x[line], ...) for each line along dim; x has one pointer for each operand.
using LineFn = std::function<void(std::span<const Array* const> x, const std::vector<int64_t>& line,
                                  Array& y)>;
// d(self), computed from the result by the operator of this name.
GradFn softmax_grad(std::string backward);
ReferenceFn softmax_reference(DType (*result)(const OpView&, const Array&), LineFn f);
DType forward_dtype(const OpView& op, const Array& self);
DType backward_dtype(const OpView& op, const Array& grad_output);

std::vector<Sample> softmax_samples();
std::vector<Sample> softmax_backward_samples(double lo, double hi);
std::vector<Reject> softmax_rejects(const std::string& name);
std::vector<Reject> softmax_backward_rejects(const std::string& name);

}  // namespace cleave
