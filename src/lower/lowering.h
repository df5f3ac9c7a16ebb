// The state that the functions share which lower nodes:
//
//   lower_view      a layout                    lower_library     a library call
//   lower_group     calls as one kernel         lower_foreign     a call of the host program's code
//   lower_kernel    loops written by the        lower_branch      a cond
//                   operator itself             lower_loop        a while_loop
//   lower_join      copies into one result      lower_rows        a graph piece by piece
//   lower_cast      nothing, if the readers convert what they read
#pragma once
#include "lower/kernel_table.h"
#include "lower/value_storages.h"

namespace cleave {

struct Lowering {
  Lowering(const Graph& g, LoweredProgram& p, KernelTable& k)
      : graph(g), program(p), kernels(k), values(g, p, k.choices().row_bytes) {}

  const Graph& graph;
  // The same for the graph's subgraphs.
  LoweredProgram& program;  // storages and thunks so far
  KernelTable& kernels;
  ValueStorages values;  // of this graph

  // Adds a thunk that can't fail.
  template <class Work>
  void add_thunk(const std::string& name, Work work) {
    program.thunks.push_back({name, std::move(work), false});
  }
};

}  // namespace cleave
