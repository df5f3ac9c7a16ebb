// The one way of a graph to running code: a table of named stages, of which callers run a part.
//
//   autocast   pre_grad   grad        a forward graph; a joint graph enters at pre_grad
//   verify   joint   post_grad   decompose   copies   decomposed   dead_code   tags   remat
//   fuse                              the graph as it is to run
//   lower   in_place   schedule   emit   products   plan_memory   build     kernels, memory, code
//
//   run_stages(Stage::autocast, Stage::grad, graph, ops, options);     // its joint graph
//   run_stages(Stage::verify, Stage::fuse, graph, ops, options);       // what is lowered
//   BuiltProgram p = *build_program(graph, ops, options, report);      // verify to build
//
// Stages of the graph are functions Graph -> Graph (graph_stages.h); those of the code hand on
// values of which each says what is made by then (build.h).
//
// A graph is verified after every stage that changed it, and written to the dump folder then
// (NN_stage.clv); lower writes the kernels (NN_lower.loops), schedule those that are emitted, with
// how their loops run (NN_schedule.loops), emit each unit of C text (NN_unit_K.c).
#pragma once
#include "cleave/report.h"
#include "compile/build.h"
#include "compile/stage_options.h"

namespace cleave {

enum class Stage : uint8_t {
  autocast,    // CompileOptions::autocast
  pre_grad,    // passes
  grad,        // the joint graph, where StageOptions::grad asks for it and something wants it
  verify,      // and no device but the CPU
  joint,       // passes
  post_grad,   // passes
  decompose,   // to what has a lowering
  copies,      // of values that nothing writes
  decomposed,  // passes
  dead_code,
  tags,   // what is marked for recomputation runs again
  remat,  // what else runs again (remat/rematerialize.h); with a budget it gives a fused graph
  fuse,
  lower,
  in_place,
  schedule,  // how loops run, and which kernels are one function
  emit,
  products,
  plan_memory,
  build,
};
std::string_view name_of(Stage stage);

// Stages of the graph, which come before lower. Errors, which leave nothing of the graph: those of
// the stages; bug: a stage made a wrong graph, or `last` isn't one of them.
Status run_stages(Stage first, Stage last, Graph& graph, const OpRegistry& ops,
                  const StageOptions& options, Report* report = nullptr);

// From verify on; `graph` is changed to what was lowered.
Result<BuiltProgram> build_program(Graph& graph, const OpRegistry& ops, const StageOptions& options,
                                   Report& report);

}  // namespace cleave
