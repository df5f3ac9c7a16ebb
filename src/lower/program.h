// A lowered program: a list of steps over storages, before code is emitted.
//
//   step      a kernel call, a matrix product, an attention, a convolution, a foreign call, or a
//             jump
//   storage   a placeholder's memory (bound by the caller), or a range of the arena
//
// A view has its base's storage. Lifetimes are steps [first, last]; a result lives to the end.
//
//   cond                          while_loop
//     jump unless pred: B           x = operands
//     steps of then               A: steps of condition
//     jump: C                       jump unless flag: B
//   B: steps of otherwise           steps of body, x = its results
//   C:                              jump: A
//                                 B:
#pragma once
#include <array>
#include <variant>

#include "base/alignment.h"
#include "ir/graph.h"
#include "loop/kernel.h"
#include "loop/lower_rule.h"

namespace cleave {

struct Storage {
  std::string name;  // of the value that it was made for
  DType dtype = DType::f32;
  int64_t elements = 0;
  int64_t bytes = 0;     // elements * size; for workspace as asked for
  int placeholder = -1;  // its index; -1: in the arena
  bool workspace = false;
  int64_t first = -1, last = -1;  // steps that touch it; -1: none
  int64_t offset = 0;             // in the arena, by plan_memory
  // Values of the graph that lie in it side by side, where not one node wrote it all: results of
  // their own nodes, written where a cat wants them (place.h).
  struct Part {
    ValueId value;
    int64_t bytes = 0;
  };
  std::vector<Part> parts = {};
};

// A result may lie over an operand that is read, where an element of the result is written, at its
// address alone, and never after it was written.
struct InPlace {
  size_t operand = 0, result = 0;  // storages
};

struct KernelCall {
  size_t kernel = 0;             // into LoweredProgram::kernels
  std::vector<size_t> storages;  // one for each buffer of the kernel
  std::vector<int64_t> scalars;
  std::vector<InPlace> in_place;
  bool whole_copy = false;  // storages[1] = storages[0], element by element
};

// C[batch,m,n] = alpha * A B + beta * C_in; strides in elements, C dense from an offset on.
struct ProductCall {
  struct Matrix {
    size_t storage = 0;
    int64_t offset = 0, batch_stride = 0, row = 0, column = 0;
    std::optional<DType> stored = {};  // where not the product's: converted where it is read
  };
  DType dtype = DType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Matrix a, b;
  std::optional<Matrix> c_in;
  bool scales_sums = false, b_is_nibbles = false;  // loop::ProductRule
  std::array<std::optional<Matrix>, 2> scales = {};
  size_t c = 0;
  int64_t c_offset = 0;
  double alpha = 1, beta = 1;
  std::optional<size_t> scratch;  // a workspace storage, set when the library says how much
};

// What an attention touches: [batch,heads,rows,width], or [batch,heads,rows] for the sums; seed and
// step are one element each. Strides are in elements, 0 where one element serves for all.
enum class AttentionPart {
  query,
  key,
  value,
  mask,
  seed,
  step,
  out,
  logsumexp,
  dout,
  dquery,
  dkey,
  dvalue
};
constexpr size_t attention_parts_count = 12;

struct AttentionCall {
  struct Matrix {
    size_t storage = 0;
    DType dtype = DType::f32;
    int64_t offset = 0, batch_stride = 0, head_stride = 0, row = 0, column = 0;
  };
  loop::AttentionForm form;  // without its positions, which mean nothing here
  int64_t batch = 1, heads = 1, rows = 0, columns = 0, width = 0, value_width = 0;
  std::array<std::optional<Matrix>, attention_parts_count> parts;  // by AttentionPart
  std::optional<size_t> scratch;  // a workspace storage, set when the runtime says how much

  std::optional<Matrix>& operator[](AttentionPart p) { return parts[static_cast<size_t>(p)]; }
  const std::optional<Matrix>& operator[](AttentionPart p) const {
    return parts[static_cast<size_t>(p)];
  }
  bool writes(AttentionPart p) const {
    return form.is_backward ? p >= AttentionPart::dquery
                            : p == AttentionPart::out || p == AttentionPart::logsumexp;
  }
};

// One product of a convolution; operands and result are row-major without gaps.
struct ConvolutionCall {
  struct Place {
    size_t storage = 0;
    int64_t offset = 0;
  };
  loop::ConvolutionForm form;  // without its positions, which mean nothing here
  DType dtype = DType::f32;
  Place image, other;
  std::optional<Place> bias;
  // An operand of the node that gives its sizes alone: to be there, not to be read.
  std::optional<size_t> like;
  Place out;
  std::optional<size_t> scratch;  // a workspace storage, set when the runtime says how much
};

struct ForeignCall {
  loop::CustomOpCode code;
  std::vector<std::optional<size_t>> operands;
  std::vector<size_t> results;
};

// The run goes on at step `target`, which may be the end of the list. With a flag only where it is
// false: a bool, one byte.
struct JumpCall {
  struct Flag {
    size_t storage = 0;
    int64_t offset = 0;
  };
  std::optional<Flag> unless;
  size_t target = 0;
};

struct Step {
  std::string name;  // of the value that it computes
  std::variant<KernelCall, ProductCall, ForeignCall, JumpCall, AttentionCall, ConvolutionCall> work;
  bool may_fail = false;  // checks indices
  NodeId node = {};       // of the graph that was lowered; none for copies of what is returned
};

struct LoweredProgram {
  std::vector<Storage> storages;
  std::vector<loop::Kernel> kernels;  // distinct ones
  std::vector<Step> steps;
  // The storage of each entry of `return`; it lies there from the start on, with its strides.
  std::vector<size_t> returns;
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound = 0;  // largest sum of arena storages alive at one step
  int64_t placeholder_bytes = 0;  // each rounded up to 64
};

// Memory for a step alone; none where it needs none.
std::optional<size_t> add_workspace(LoweredProgram& program, const std::string& step,
                                    int64_t bytes);

// A static, decomposed graph to steps: one kernel a node, views free. Unsupported names the
// operator that has no lowering.
Result<LoweredProgram> lower_graph(const Graph& graph);

// Nodes whose operator is lowered by decomposition are replaced by it, until none is left.
Status decompose_for_lowering(Graph& graph, const OpRegistry& ops);

// Steps whose checks of indices earlier ones have made don't fail any more (Step::may_fail).
void drop_redundant_checks(LoweredProgram& program);

// An update whose value is computed after the last step that may fail, and not before the last read
// of the placeholder, is written into the placeholder's memory at once. A kernel that reads the
// placeholder itself must do so at the address that it writes, and stand in no loop.
void update_in_place(LoweredProgram& program);

// Less memory for the same steps: those that free more than they take run as soon as they can (an
// optimizer after the gradient that it reads), results lie over operands that nothing reads any
// more. Programs with jumps stay as they are.
void save_memory(LoweredProgram& program);
void run_early(LoweredProgram& program);
void reuse_dead(LoweredProgram& program);

// Lifetimes, then offsets of all arena storages; workspaces get the lowest addresses. What a loop
// touches and stands before it lives to its end.
Status plan_memory(LoweredProgram& program);
// Lifetimes, placeholder_bytes and arena_lower_bound alone: plan_memory's arena is no smaller.
void measure_memory(LoweredProgram& program);

}  // namespace cleave
