// Branches and loops that depend on values computed at run time.
//
//   Tensor y = cond(
//       loss > 10.0, [&] { return clamp(x, -1, 1); }, [&] { return x; })[0];
//
//   Tensors r = while_loop(
//       [](const Tensor& n, const Tensor& x) { return n < 100 & any(abs(x) > 1e-3); },
//       [&](const Tensor& n, const Tensor& x) { return Tensors{n + 1, 0.5 * x}; },
//       {zeros({}, DType::i64), x});
//
// Each function is called once, to record a graph of its own. It may use Tensors of the enclosing
// program and Variables: they become operands of the call. What it computes is computed only when
// its graph runs; its Tensors can't be used outside it, and only what it returns is kept.
//
// Errors, at the caller's line: types that don't match (the rules of the operators cond and
// while_loop in doc/ops.md), assign() in a function, operands of no program (pass a tensor of the
// program among them). An index out of range fails the run when the graph that reads it runs.
#pragma once
#include "cleave/traced_function.h"

namespace cleave {

// pred     a bool of one element
// then, otherwise   functions of `operands` that return Tensors of the same types, at least one
// Returns what `then` returns if pred is true, else what `otherwise` returns. Has a gradient: the
// backward recomputes the branch that was taken. Cost: that of the branch taken.
CLEAVE_API Tensors cond(const Tensor& pred, const TracedFunction& then,
                        const TracedFunction& otherwise, const Tensors& operands = {},
                        Location at = Location::current());

// condition   a function of the carried values that returns a bool of one element
// body        a function of the carried values that returns their next values, of the same types
// Runs body as long as condition is true, possibly never, and returns the final carried values. No
// gradient flows through it. Dropout in it draws new numbers in each iteration. Memory: that of one
// iteration.
CLEAVE_API Tensors while_loop(const TracedFunction& condition, const TracedFunction& body,
                              const Tensors& carried, Location at = Location::current());

}  // namespace cleave
