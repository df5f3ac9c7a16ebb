// What a compilation did: its stages and passes, the program's size; what its runs did beside
// running; and what the program's steps took.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct CompileStage {
  std::string name;
  double ms = 0;
  size_t nodes = 0;  // of the graph, after it
  // Changes to the graph: calls, operands, attributes, types, returns. Of a stage that makes a new
  // graph, all that made that one. A changed branch or loop counts as one.
  int64_t edits = 0;
  int64_t inferred = 0;  // calls whose types were inferred, new ones and again; as edits
  // How much more memory of the process was resident at its end than at its beginning, in whole
  // pages: what other threads took as well. What was freed before and is taken again isn't seen;
  // below 0 where memory went back to the system.
  int64_t grown_bytes = 0;
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

// What is legal and probably not meant. Each goes to CompileOptions::log too, or to stderr.
//   traced_value    a Variable's value was read while the function was traced, and is a constant
//                   now
//   bf16_emulated   products, convolutions or attention of bf16 values for a processor without
//                   AVX512_BF16: they run as those of f32, behind conversions
//   no_compiler     there is none for CompilerChoice::automatic: kernels are interpreted
//   remote_cache    the remote cache can't be used (Cache::remote)
//   cudagraphs      why the runs of this instance aren't CUDA graphs; said when that is found
struct Warning {
  std::string code, text;
};

// How a result lies in memory.
struct OutputLayout {
  std::string name;                  // of its value in the graph
  std::string type;                  // "f32[2,3]", with strides where it isn't row-major
  std::vector<std::string> strides;  // one a dim, in elements: {"3", "1"}
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
  // inference: results alone. training: gradients too, and what is made of them.
  std::string direction = "inference";
  // Names what was compiled, 8 hexadecimal digits: equal for equal graphs, options and versions of
  // cleave, on any machine.
  std::string graph_id;
  // How the program was had. hit: from the cache, no pass ran. miss: it was compiled, and is kept,
  // or cache_reason says what prevented that (a full disk, a folder that can only be read).
  // bypass: there is no cache (CompileOptions::cache_dir), or it can't keep this program;
  // cache_reason says why.
  std::string cache = "bypass", cache_reason = "off";
  double trace_ms = 0;    // the model's own code, gradients and optimizer
  double compile_ms = 0;  // from the traced graph to a program that runs
  std::vector<CompileStage> stages;
  std::vector<CompilePass> passes;  // in execution order
  std::vector<Warning> warnings;    // each once
  int64_t nodes = 0;                // of the traced graph
  int64_t kernels = 0;              // calls in a run: generated kernels and library calls
  int64_t distinct_kernels = 0;     // generated kernels, each compiled once
  // Placeholders, results, live values and workspace at the peak of a run, each rounded up to 64
  // bytes; and the two parts that it is planned from.
  int64_t planned_peak_bytes = 0;
  int64_t arena_bytes = 0;
  int64_t placeholder_bytes = 0;
  // What one execution of each step reads and writes, in bytes (StepTime::bytes): of a run without
  // loops or branches. Values in registers don't count, nor does a cache between the steps.
  int64_t moved_bytes = 0;
  // What happened how often, by name.
  //   of the compilation   passes       matches of all passes
  //                        cache        units of code that came from the cache
  //                        offloaded_bytes  that each run copies to the host's memory, and back
  //   of this instance     copies       inputs that were copied before a run, since they lay in
  //                                     memory that the run writes
  //                        stride_copies  inputs that were copied because of their strides
  //                                     (InputSpec::copy_strides)
  //                        rebinds      Variables, and inputs with InputSpec::is_static, that a
  //                                     run found elsewhere than the one before
  //                        sizes        programs made for other sizes than the largest, by all
  //                                     instances, when this one met its last new sizes
  //                        recompiles   those of them that a kernel was compiled for
  //   the same, on a GPU   cudagraph_records   runs that were noted as a graph: once or twice, and
  //                                     again where an operand was found elsewhere
  //                        cudagraph_launches  runs that were one (CompileOptions::cudagraphs)
  //                        cudagraph_skips     runs that can't be one; a warning says why
  std::map<std::string, int64_t, std::less<>> counters = {};
  // 0 where there is none.
  int64_t count(std::string_view name) const {
    const auto at = counters.find(name);
    return at == counters.end() ? 0 : at->second;
  }
  // Of a program for other sizes than the largest: its sizes, the first of its kernels that no
  // function of the programs before it computed, and why not. Empty: nothing was compiled.
  std::string recompiled;
  std::vector<OutputLayout> outputs;  // the function's results, in order
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
