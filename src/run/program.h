// What a run of a program reads: a list of thunks over storages.
//
//   thunk     a call with its arguments, as in XLA: of a kernel, of the library, of code of the
//             host program; or a jump
//   storage   memory of a placeholder, bound by the caller; or a range of the arena
//
// A view shares its base's storage. A lifetime is a range of thunks [first, last]; returned
// storages live to the end.
//
//   cond                          while_loop
//     jump unless pred: B           x = operands
//     thunks of then              A: thunks of condition
//     jump: C                       jump unless flag: B
//   B: thunks of otherwise          thunks of body, x = its results
//   C:                              jump: A
//                                 B:
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/alignment.h"
#include "base/ids.h"
#include "base/layout.h"
#include "library/host_code.h"
#include "library/library_function.h"
#include "library/spec.h"

namespace cleave {

struct Storage {
  std::string name;  // of the value that it was made for
  DType dtype = DType::f32;
  int64_t elements = 0;
  int64_t bytes = 0;     // elements * size, and up to align_storages.h; of a workspace: asked for
  int placeholder = -1;  // its index; -1: in the arena
  bool workspace = false;
  int64_t first = -1, last = -1;  // thunks that touch it; -1: none
  // Values in it that their own nodes write there, because a join reads them (place.h). Empty if
  // one node writes all of it.
  struct Part {
    ValueId value;
    int64_t bytes = 0;
  };
  std::vector<Part> parts = {};
};

// A result that may share the storage of an operand: an element of the operand is read only where
// the result's element at the same address is computed, and never after that is written.
struct InPlace {
  size_t operand = 0, result = 0;  // storages
};

struct KernelCall {
  size_t kernel = 0;             // its number
  std::vector<size_t> storages;  // one for each buffer of the kernel
  std::vector<int64_t> scalars;
  std::vector<InPlace> in_place;
  bool whole_copy = false;  // storages[1] = storages[0], element by element
};

// A product, an attention or a convolution: what it computes, and the memory that it touches, in
// any order. Offsets and strides are in elements.
struct LibraryCall {
  struct Operand {
    size_t position = 0;  // among the pointers of the call (GemmOperand and others)
    size_t storage = 0;
    LibraryAccess access = LibraryAccess::read;
    DType dtype = DType::f32;
    Layout layout;
  };
  LibrarySpec spec;
  std::vector<Operand> operands;
  // Set when the program is linked: the function, and the storage of its workspace, if it has one.
  LibraryFunctionPtr function;
  std::optional<size_t> workspace;
};

struct ForeignCall {
  CustomOpCode code;
  std::vector<std::optional<size_t>> operands;
  std::vector<size_t> results;
};

// Continues at thunk `target`, which may be the end of the list. If there is a flag, a bool of one
// byte, only where that is false.
struct JumpCall {
  struct Flag {
    size_t storage = 0;
    int64_t offset = 0;
  };
  std::optional<Flag> unless;
  size_t target = 0;
};

// A copy between a storage and the host's memory, where a value lies while no call touches it
// (lower/offload.h). It begins behind the calls so far and runs beside those that follow, up to the
// step that ends it.
struct TransferCall {
  enum class Step : uint8_t { begin_out, end_out, begin_in, end_in };
  Step step = Step::begin_out;
  size_t number = 0;  // of the copy, which one step begins and one ends
  size_t storage = 0;
  int64_t host_offset = 0;  // bytes
};

struct Thunk {
  std::string name;  // of the value that it computes
  std::variant<KernelCall, LibraryCall, ForeignCall, JumpCall, TransferCall> work;
  bool may_fail = false;  // checks indices, or calls the host program, which may throw
  NodeId node = {};       // of the lowered graph; invalid for copies of returned values
};

// Library calls [begin, end), of functions that can join, that run as one job. None touches what
// another writes, and what they touch lives from the first to the last (lower/join_products.h).
struct JoinedCalls {
  size_t begin = 0, end = 0;  // thunks
};

struct ThunkProgram {
  std::vector<Storage> storages;
  std::vector<Thunk> thunks;
  // The storage of each entry of `return`; the value is at its start, with the strides of its type.
  std::vector<size_t> returns;
  std::vector<JoinedCalls> joined = {};  // none in another
};

// Bytes of the host's memory that its TransferCalls use.
int64_t host_bytes(const ThunkProgram& program);

// A lower bound of a program's memory, whatever the offsets.
struct MemoryBound {
  int64_t placeholders = 0;  // bytes, each rounded up to 64
  int64_t arena = 0;         // largest sum of arena storages alive at one thunk, or more by search
  int64_t peak() const { return placeholders + arena; }
};

}  // namespace cleave
