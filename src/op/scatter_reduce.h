// Shared by the parts of scatter_reduce (semantics: scatter_reduce.cpp), and by scatter with
// `reduce`: "add" is a sum and "multiply" a product that include self, of src or of one number.
#pragma once
#include "ir/builder.h"
#include "ir/op_view.h"
#include "loop/kernel_builder.h"

namespace cleave {

enum class Fold { sum, prod, mean, amax, amin };

// infer has checked the attribute.
Fold fold_of(const OpView& op);
bool includes_self(const OpView& op);
int64_t scatter_dim(const OpView& op);

// The attribute `value` of scatter in the compute type of its result.
loop::Expr scatter_number(const OpView& op);

Values grad_scatter_reduce(Builder& b, const GradView& op);
void lower_scatter_reduce(loop::KernelBuilder& k, const OpView& op);

}  // namespace cleave
