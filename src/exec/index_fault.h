// The message of a kernel's failed check, in the words of the program that was traced:
//
//   model.cpp:12: cross_entropy: class 7 is out of range [0, 5), %target[3]
//   model.cpp:30: embedding: indices: index 9 is out of range [0, 5), %tokens[0,4]
//   embedding: indices: index 9 is out of range [0, 5), computing %h
//
// The line is that of the call that checks; without one, its result is named, never the kernel. The
// element is found by following the index back through calls that only move elements to an input,
// and searching that.
#pragma once
#include <functional>
#include <string>

#include "backend/backend.h"
#include "ir/graph.h"

namespace cleave {

// The memory of a placeholder by its number; null: it isn't bound.
using PlaceholderMemory = std::function<const void*(size_t)>;

// `kernel` names the kernel's first value, `node` is the call of `g` that it computes.
std::string fault_text(const Graph& g, NodeId node, const std::string& kernel, const Fault& fault,
                       const PlaceholderMemory& memory);

}  // namespace cleave
