// What the ways to lower a node read and add to. There is a function for each way:
//
//   lower_view      a layout                    lower_library     a call of the library
//   lower_group     calls as one kernel         lower_foreign     a call of the host program's code
//   lower_kernel    loops of the operator's own lower_branch      a cond
//   lower_join      copies side by side         lower_loop        a while_loop
//   lower_cast      nothing, for products that convert what they read
#pragma once
#include "lower/kernel_table.h"
#include "lower/value_storages.h"

namespace cleave {

struct Lowering {
  Lowering(const Graph& g, LoweredProgram& p, KernelTable& k)
      : graph(g), program(p), kernels(k), values(g, p) {}

  const Graph& graph;
  // Shared with the graph's subgraphs.
  LoweredProgram& program;  // its storages and steps so far
  KernelTable& kernels;
  ValueStorages values;  // of this graph

  // Adds a step that can't fail.
  template <class Work>
  void add_step(const std::string& name, Work work) {
    program.steps.push_back({name, std::move(work), false});
  }
};

}  // namespace cleave
