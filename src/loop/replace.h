// Expressions with some variables, or loads, replaced.
#pragma once
#include <functional>
#include <unordered_map>

#include "loop/expr.h"

namespace cleave::loop {

// For each leaf and each load (whose index has been replaced): what it becomes, or an undefined
// Expr where it stays. Index arithmetic is folded.
using ReplaceRule = std::function<Expr(const Expr&)>;
Expr replaced(const Expr& e, const ReplaceRule& rule);

// Variables by their numbers.
using VariableValues = std::unordered_map<int64_t, Expr>;
Expr replaced(const Expr& e, const VariableValues& values);

// Calls f with each node of the expression, each once.
void for_each_part(const Expr& e, const std::function<void(const Expr&)>& f);

// Whether the variable is a part of e.
bool has_variable(const Expr& e, const Expr& var);

}  // namespace cleave::loop
