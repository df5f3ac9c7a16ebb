// A graph on another device.
//
//   CLEAVE_TRY(Graph there, moved_to(g, Device::cuda(0), ops));
#pragma once
#include "ir/graph.h"

namespace cleave {

class OpRegistry;

// With all placeholders but symints on the device, and so their subgraphs'; what is created without
// operands is created there, and copies say nothing of a device. Types are inferred anew. Where a
// result has another dtype there (statistics of half tensors are f32 on cuda), what reads it gets
// its old one, converted. Names stay. Error: a rule refuses it there, with the call and its line.
Result<Graph> moved_to(const Graph& g, Device device, const OpRegistry& ops);

// The device of its placeholders, symints and 0-d tensors aside; the CPU if there are none.
Device device_of(const Graph& g);

// Whether all values of the graph and its subgraphs lie there, symints and 0-d placeholders aside.
bool lies_on(const Graph& g, Device device);

}  // namespace cleave
