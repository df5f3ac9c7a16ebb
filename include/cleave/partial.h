// Compiles of a graph what can be compiled, and leaves the rest.
//
//   PartialProgram p = partial_lower(graph, {.node = [](const GraphCall& call) {
//                                              return call.op != "_softmax";
//                                            }});
//   HostTensors out = p.run(std::move(inputs));
//   std::cout << p.coverage();
//
// A call goes into a region if cleave can lower it and `node` agrees; a region stays one if it has
// enough calls and `region` agrees. Each region becomes one call of the lowered graph (`call` in
// doc/ops.md), in topological order with the calls that stay outside. A region is compiled at its
// first run, for the sizes that come. What is outside runs by the function that the host program
// gives for its operator, else by the operator's reference rule, which is slow.
// Source: partial_lower, torch/distributed/_spmd/partial_lower.py, PyTorch 2.4.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cleave/compile_log.h"
#include "cleave/compiler.h"

namespace cleave {

enum class Grouping : uint8_t {
  runs,    // calls that stand next to each other
  convex,  // the fewest regions: as much as can be computed at once, whatever stands between
};

enum class OnFailure : uint8_t {
  error,    // a region that can't be compiled is an error that names its tag
  outside,  // it runs call by call, as what is outside does
};

struct PartialOptions {
  // Whether a call that could be lowered may be. Empty: yes.
  std::function<bool(const GraphCall& call)> node = {};
  // Whether a region of enough calls stays one. Empty: yes.
  std::function<bool(const TracedGraph& region)> region = {};
  int64_t least_calls = 10;  // of a region, views aside
  Grouping grouping = Grouping::convex;
  // The tag of a region, from its text; several may have the same. Empty: "subgraph".
  std::function<std::string(const std::string& text)> dumper = {};
  // Called at a region's first run, with the inputs that came; its callable is given any sizes that
  // the graph allows. What it throws is an error that names the region.
  GraphCompiler backend = native();
  OnFailure on_failure = OnFailure::error;
  // By operator: computes the results of a call outside, of the types that its graph says.
  std::map<std::string, std::function<HostTensors(const GraphCall& call, const HostTensors& in)>>
      functions = {};
  // Gets a line for each region that is compiled and each call that ends a run:
  // "partial_lower: graph break at %x. Reason: ...". Empty: nothing is said.
  CompileLog log = {};
  // On which the backend computes: a call of values elsewhere stays outside.
  Device device = {};
  // Called behind each run of a region, on the thread that runs.
  std::function<void(const std::string& tag, double ms)> span = {};
};

struct LoweredRegion {
  std::string tag;
  std::string graph;      // its name in the lowered graph, "subgraph_3"
  int64_t calls = 0;      // views aside
  double compile_ms = 0;  // of all sizes so far
  double run_ms = 0;      // of the last run
  int64_t runs = 0;
  std::string failure = {};  // why it runs outside (OnFailure::outside)
};

struct OutsideCall {
  std::string name;  // of its first result
  std::string op;
  std::string reason;
  double run_ms = 0;  // of the last run
};

// A handle: copies are the same program, and one that was moved from is still the same one. Runs on
// several threads at the same time come one after the other.
class CLEAVE_API PartialProgram {
 public:
  PartialProgram(const PartialProgram&) = default;
  PartialProgram& operator=(const PartialProgram&) = default;

  // The lowered graph: calls of regions, and what is outside.
  TracedGraph graph() const;
  // Boxed, as a GraphCallable. Errors: those of compilation and of runs, naming the region's tag.
  HostTensors run(HostTensors&& inputs);
  std::vector<LoweredRegion> regions() const;
  std::vector<OutsideCall> outside() const;
  // A table of both, with the share of calls that are compiled.
  std::string coverage() const;

  struct State;
  explicit PartialProgram(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// What `node`, `region` or `dumper` throws is thrown as it is. Errors (user): least_calls below 1,
// an empty tag or backend.
CLEAVE_API PartialProgram partial_lower(const TracedGraph& graph,
                                        const PartialOptions& options = {});
// The same as a compiler, for aot_function.
CLEAVE_API GraphCompiler partial(PartialOptions options = {});
// The calls that cleave can't lower, which stay outside whatever the options say: in order.
CLEAVE_API std::vector<OutsideCall> uncovered_calls(const TracedGraph& graph, Device device = {});

}  // namespace cleave
