// Activation checkpointing: parts of a model whose values are not kept for the backward.
//
//   Tensor y = checkpoint([&](const Tensor& x) { return block(x); }, {x})[0];
//
//   // Products are kept, all else is computed again.
//   checkpoint(block, {x}, [](std::string_view op) {
//     return op == "mm" ? CheckpointPolicy::must_save : CheckpointPolicy::prefer_recompute;
//   });
//
// What the function records is marked, and a training step keeps to the marks at every memory
// budget: they win. A budget alone usually finds better programs than marks by hand
// (Options::memory_budget).
#pragma once
#include <functional>
#include <string_view>

#include "cleave/traced_function.h"

namespace cleave {

enum class CheckpointPolicy : uint8_t { must_save, prefer_save, prefer_recompute, must_recompute };
// By an operator's name, ATen's: "mm", "native_layer_norm".
using PolicyFunction = std::function<CheckpointPolicy(std::string_view op)>;

// Calls fn(inputs) once and gives what it returns. Every operation in it is computed again in the
// backward where its gradient needs it, or what the policy says instead. Random operations give the
// same bits again. Nests: operations of an inner checkpoint keep its policy, and belong to the
// outermost one's region; what a later region reads of an earlier one is kept. Errors (user), at
// the caller's line: no input belongs to a program that is being traced; the function's number of
// Tensors isn't that of the inputs.
CLEAVE_API Tensors checkpoint(const TracedFunction& fn, const Tensors& inputs,
                              const PolicyFunction& policy = {}, Location at = Location::current());

}  // namespace cleave
