// The only way from a graph to running code: a table of named stages; callers run a part of it.
//
//   autocast   pre_grad   grad        a forward graph; a joint graph enters at pre_grad
//   verify   joint   freeze   post_grad   partition   decompose   copies   decomposed   dead_code
//   tags   remat   fuse               the graph as it is to run
//   lower   products   in_place   schedule   emit   plan_memory   build     kernels, memory, code
//
//   run_stages(Stage::autocast, Stage::grad, graph, ops, options);     // to the joint graph
//   run_stages(Stage::verify, Stage::fuse, graph, ops, options);       // to what is lowered
//   BuiltProgram p = *build_program(graph, ops, options, report);      // verify to build, or kept
//
// The stages up to fuse are functions Graph -> Graph (graph_stages.h); those after it pass on a
// type of their own each (build.h).
//
// A graph is verified after every stage that changed it. What is around each stage is in
// stage_runner.h: observers, the dump (dump.h), the report.
#pragma once
#include "cleave/report.h"
#include "compile/build.h"
#include "compile/code_pool.h"
#include "compile/stage_options.h"

namespace cleave {

enum class Stage : uint8_t {
  autocast,    // CompileOptions::autocast
  pre_grad,    // passes
  grad,        // the joint graph, if StageOptions::grad is set and a placeholder wants a gradient
  verify,      // types, and that every device is that of the options
  joint,       // passes
  freeze,      // passes; what is computed once leaves the graph
  post_grad,   // passes
  partition,   // CompileOptions::partition: what runs again by PyTorch's rules
  decompose,   // into calls that have a lowering
  copies,      // drops calls that return an operand unchanged
  decomposed,  // passes
  dead_code,
  tags,   // what `!recompute` tags ask for
  remat,  // what else is recomputed (remat/rematerialize.h); with a budget the result is fused
  fuse,
  lower,
  products,  // links library calls to their functions
  in_place,  // memory is saved: what is written over what, and in which order thunks run
  schedule,  // how each loop runs, and which kernels share a function
  emit,
  plan_memory,
  build,
};
std::string_view name_of(Stage stage);

// Runs the stages [first, last], all of which come before lower. On an error `graph` is lost.
// Errors: those of the stages; bug: a stage made a wrong graph, or `last` comes after fuse.
Status run_stages(Stage first, Stage last, Graph& graph, const OpRegistry& ops,
                  const StageOptions& options, Report* report = nullptr);

// The report of a program whose first stages were run before, apart.
Report joined(Report front, Report rest);

// What programs with these options are built by: CompileOptions::backend, or a new one.
std::shared_ptr<Backend> backend_for(const CompileOptions& options);
// The same, for what compiles nothing: no compiler is looked for.
std::shared_ptr<Backend> planning_backend(const CompileOptions& options);

// Runs verify to schedule, for a pool to learn from. `options` is without observers and dump.
Result<std::vector<loop::Kernel>> scheduled_kernels(Graph graph, const OpRegistry& ops,
                                                    const StageOptions& options,
                                                    const std::shared_ptr<Backend>& backend);

// Runs verify to plan_memory: a program whose code isn't compiled. `options` wants a compiler.
Result<WrittenProgram> write_program(Graph graph, const OpRegistry& ops,
                                     const StageOptions& options, Report& report);

// Runs verify to build; or none of them, where a cache has the program (program_cache.h).
Result<BuiltProgram> build_program(Graph graph, const OpRegistry& ops, const StageOptions& options,
                                   Report& report);

}  // namespace cleave
