// Activation checkpointing: marks parts of a model whose values are not kept for the backward.
//
//   Tensor y = checkpoint([&](const Tensor& x) { return block(x); }, {x})[0];
//
//   // Products are kept, all else is recomputed.
//   checkpoint(block, {x}, [](std::string_view op) {
//     return op == "mm" ? CheckpointPolicy::must_save : CheckpointPolicy::prefer_recompute;
//   });
//
// What the function records is marked, and a training step obeys the marks at every memory budget:
// they take precedence. A budget alone usually finds better programs than marks by hand
// (CompileOptions::memory_budget).
#pragma once
#include <functional>
#include <string_view>

#include "cleave/traced_function.h"

namespace cleave {

enum class CheckpointPolicy : uint8_t { must_save, prefer_save, prefer_recompute, must_recompute };
// Takes an operator's ATen name: "mm", "native_layer_norm".
using PolicyFunction = std::function<CheckpointPolicy(std::string_view op)>;

// Calls fn(inputs) once and returns its results. The backward recomputes every operation in it that
// a gradient needs, unless the policy says otherwise. Recomputed random operations give the same
// bits. Nests: operations of an inner checkpoint keep its policy, and belong to the outermost one's
// region; values of an earlier region that a later one reads are kept. Errors (user), at the
// caller's line: no input belongs to a program that is being traced; the function takes another
// number of Tensors than there are inputs.
CLEAVE_API Tensors checkpoint(const TracedFunction& fn, const Tensors& inputs,
                              const PolicyFunction& policy = {}, Location at = Location::current());

}  // namespace cleave
