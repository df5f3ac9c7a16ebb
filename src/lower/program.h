// A lowered program: a list of steps over storages, before code is emitted.
//
//   step      a kernel call, a library call, a foreign call, or a jump
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

// A product, an attention, a convolution: what it computes, and the memory that it touches, in any
// order. Offsets and strides are in elements.
struct LibraryCall {
  struct Operand {
    size_t position = 0;  // among the pointers of the call (GemmOperand and others)
    size_t storage = 0;
    loop::LibraryAccess access = loop::LibraryAccess::read;
    DType dtype = DType::f32;
    loop::Layout layout;
  };
  LibrarySpec spec;
  std::vector<Operand> operands;
  std::optional<size_t> workspace;  // a storage, set when the library says how much
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
  std::variant<KernelCall, LibraryCall, ForeignCall, JumpCall> work;
  bool may_fail = false;  // checks indices, or calls the host program, which may throw
  NodeId node = {};       // of the graph that was lowered; none for copies of what is returned
};

struct LoweredProgram {
  std::vector<Storage> storages;
  std::vector<loop::Kernel> kernels;  // distinct ones
  std::vector<Step> steps;
  // The storage of each entry of `return`; it lies there from the start on, with its strides.
  std::vector<size_t> returns;
};

// What a program takes at the least: no offsets are below that.
struct MemoryBound {
  int64_t placeholders = 0;  // bytes, each rounded up to 64
  int64_t arena = 0;         // largest sum of arena storages alive at one step, or more by search
  int64_t peak() const { return placeholders + arena; }
};

// A lowered program whose storages have lifetimes and places. Its steps and storages don't change
// any more.
struct PlannedProgram {
  LoweredProgram lowered;
  std::vector<int64_t> offsets;  // by storage, in the arena; 0 for those that aren't there
  int64_t arena_bytes = 0;
  MemoryBound bound = {};
  int64_t peak_bytes() const { return bound.placeholders + arena_bytes; }
};

}  // namespace cleave
