// What a compilation did: its stages and passes, the program's size; and what the program's steps
// took.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cleave {

struct CompileStage {
  std::string name;
  double ms = 0;
  size_t nodes = 0;
};

// Statistics of a rewrite rule in one run.
struct RuleCount {
  std::string rule;
  int64_t matches = 0;
  int64_t nodes = 0;  // calls matched, and results selected by index
  // Near misses: the pattern matches, but its condition, users, tags or order don't allow it.
  int64_t refused = 0;
  double ms = 0;
};

// A pass that ran: how often it rewrote something, and how many calls it rewrote.
struct CompilePass {
  std::string name;
  int64_t matches = 0, nodes = 0;
  double ms = 0;
  std::vector<RuleCount> rules = {};  // of a pass of patterns
};

// What is legal and probably a mistake. Each text is also written to stderr, once a process.
//   traced_value   a Variable's value was read while the function was traced, and is a constant now
struct Warning {
  std::string code, text;
};

// What CompileOptions::freeze did.
struct FrozenReport {
  struct Part {
    int64_t count = 0, bytes = 0;
  };
  Part folded = {};   // values that were computed once and belong to the program
  Part packed = {};   // those of them that are weights in the order that a product reads
  Part kept = {};     // Variables that each run reads where they are
  Part dropped = {};  // Variables that no run reads: the program doesn't keep them alive
};

struct Report {
  // How the code was had. hit: from the cache, nothing was compiled. miss: some of it was compiled.
  // bypass: there is no cache (CompileOptions::cache_dir), or it can't be used; cache_reason says
  // why.
  std::string cache = "bypass", cache_reason = "off";
  double trace_ms = 0;    // the model's own code, gradients and optimizer
  double compile_ms = 0;  // from the traced graph to a program that runs
  std::vector<CompileStage> stages;
  std::vector<CompilePass> passes;  // in execution order
  std::vector<Warning> warnings;    // of the trace
  int64_t nodes = 0;                // of the traced graph
  int64_t kernels = 0;              // calls in a run: generated kernels and library calls
  int64_t distinct_kernels = 0;     // generated kernels, each compiled once
  // Placeholders, results, live values and workspace at the peak of a run, each rounded up to 64
  // bytes; and the two parts that it is planned from.
  int64_t planned_peak_bytes = 0;
  int64_t arena_bytes = 0;
  int64_t placeholder_bytes = 0;
  // Inputs that were copied before a run, since they lay in memory that the run writes.
  int64_t copied_inputs = 0;
  // How much longer a run takes because it recomputes values, by the cost table.
  int64_t recompute_ns = 0;
  FrozenReport frozen = {};
};

// The time of one step of a program: a generated kernel, or a call of the runtime.
struct StepTime {
  std::string name;    // of the first value that it computes
  std::string kind;    // kernel, product, attention, convolution, sort, foreign, jump
  int64_t ns = 0;      // sum over all measured runs; in a loop, over all iterations
  int64_t min_ns = 0;  // of the fastest run
  int64_t bytes = 0;   // read and written by one execution
  int64_t flops = 0;   // of a product, attention or convolution, one execution; else 0
};

}  // namespace cleave
