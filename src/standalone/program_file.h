// The programs of a library, in bytes (base/archive.h): what runs read, what their caller sees, and
// where weights are.
//
//   sized     the programs for one choice of the sizes that vary: the step, and with accumulation
//             the one of the micro steps before it. All share the state, by its entries
//   foldings  compute constants of these from other constants, once (CompileOptions::freeze)
//
// Functions are in tables of the library, each once, where programs find them by number: phases of
// kernels, and the C text of operators.
#pragma once
#include <algorithm>

#include "cleave/weight_place.h"
#include "run/archive_program.h"

namespace cleave::standalone {

constexpr uint32_t file_version = 4;

struct PhaseEntry {
  size_t function = 0;
  int64_t extent = 0;
};

struct KernelEntry {
  std::vector<PhaseEntry> phases;
  std::vector<CheckText> checks;
  int64_t work = 0;
};

// What a call of the host program's code calls.
struct ForeignEntry {
  bool is_callback = false;  // of ProgramFile::callbacks; else an operator of the library
  size_t number = 0;
};

struct CodeEntry {
  ThunkProgram thunks;  // without what runs don't read: C text, most names
  std::vector<int64_t> offsets;
  int64_t arena_bytes = 0;
  std::vector<KernelEntry> kernels;
  std::vector<ForeignEntry> foreign;  // of ForeignCalls, in order
};

struct TensorType {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // -1: it varies
  // As programs read and write it; -1: it varies; none: they vary, and are row-major.
  std::vector<int64_t> strides;
};

inline int64_t bytes_of(const TensorType& t) {
  return extent_of(t.shape, t.strides) * size_of(t.dtype);
}

struct ResultEntry {
  TensorType type;
  std::optional<size_t> result;  // its number in `return`; nothing: this program has none
};

using Placeholders = std::vector<std::optional<size_t>>;  // nothing: the program doesn't have it

struct ProgramEntry {
  CodeEntry code;
  Placeholders inputs, state, sizes;  // of each entry of the file; entries at the end may lack
  std::vector<ResultEntry> outputs;
};

// A size of inputs that programs differ in.
struct SizeEntry {
  std::string name;
  int64_t least = 0;
  std::optional<int64_t> most;  // nothing: it has no bounds
};

struct SizedEntry {
  std::vector<int64_t> sizes;  // by SizeEntry
  std::vector<size_t> inputs;  // the number of the type of each
  ProgramEntry step;
  std::optional<ProgramEntry> gather;  // of the micro steps before the last
};

// A dim of an input that varies: "B", or what else is made of one size.
struct DimEntry {
  std::string text;
  std::optional<size_t> size;  // it is this one
};

struct InputEntry {
  std::string name;
  TensorType type;                // of all programs
  std::vector<TensorType> types;  // of each, distinct shapes
  std::vector<DimEntry> dims;
  bool is_updated = false;
};

struct OutputEntry {
  std::string name;
  TensorType type;  // of all programs
};

enum class StateKind : uint8_t {
  state,     // read and written by runs, or read alone
  constant,  // set by set_constants alone
  folded,    // a result of `folding`; isn't the caller's
};

struct StateEntry {
  std::string name;
  TensorType type;
  StateKind kind = StateKind::state;
  bool is_updated = false;
  // Of folded: where it is computed.
  size_t folding = 0, result = 0;
  // Where its bytes, with its strides, are among the weights; -1: all are 0.
  int64_t offset = -1;
  int64_t bytes = 0;
};

struct ProgramFile {
  uint32_t version = file_version;
  std::string name;
  uint64_t id = 0;                    // of the program: NAME_PROGRAM
  uint8_t set = 0;                    // InstructionSet
  std::vector<std::string> features;  // that the processor must have
  std::vector<SizeEntry> sizes;       // empty: none varies
  std::vector<SizedEntry> sized;
  std::vector<ProgramEntry> foldings;
  std::vector<InputEntry> inputs;
  std::vector<OutputEntry> outputs;
  std::vector<StateEntry> state;
  std::vector<std::string> callbacks;
  // Of accumulate runs, all but the last gather; how many did is in the state.
  int64_t accumulate = 1;
  std::optional<size_t> micro_step;
  // What the check says that stops a step which is to be skipped then; empty: none is. The state
  // then changes in the second number of `random` alone, which counts runs.
  std::string skip_text;
  std::optional<size_t> random;  // an entry of the state
  WeightPlace weights = WeightPlace::none;
  std::string weight_file;  // beside: its name, in the folder of the library
};

// What the memory of a run takes, whichever it is.
inline int64_t arena_bytes(const ProgramFile& file) {
  int64_t most = 0;
  for (const SizedEntry& s : file.sized) {
    most = std::max(most, s.step.code.arena_bytes);
    if (s.gather) most = std::max(most, s.gather->code.arena_bytes);
  }
  return most;
}

template <class A>
void archive(A& a, Is<PhaseEntry> auto& e) {
  auto& [function, extent] = e;
  a(function, extent);
}

template <class A>
void archive(A& a, Is<KernelEntry> auto& e) {
  auto& [phases, checks, work] = e;
  a(phases, checks, work);
}

template <class A>
void archive(A& a, Is<ForeignEntry> auto& e) {
  auto& [is_callback, number] = e;
  a(is_callback, number);
}

template <class A>
void archive(A& a, Is<CodeEntry> auto& e) {
  auto& [thunks, offsets, arena_bytes, kernels, foreign] = e;
  a(thunks, offsets, arena_bytes, kernels, foreign);
}

template <class A>
void archive(A& a, Is<TensorType> auto& e) {
  auto& [dtype, shape, strides] = e;
  a(dtype, shape, strides);
}

template <class A>
void archive(A& a, Is<ResultEntry> auto& e) {
  auto& [type, result] = e;
  a(type, result);
}

template <class A>
void archive(A& a, Is<ProgramEntry> auto& e) {
  auto& [code, inputs, state, sizes, outputs] = e;
  a(code, inputs, state, sizes, outputs);
}

template <class A>
void archive(A& a, Is<SizeEntry> auto& e) {
  auto& [name, least, most] = e;
  a(name, least, most);
}

template <class A>
void archive(A& a, Is<SizedEntry> auto& e) {
  auto& [sizes, inputs, step, gather] = e;
  a(sizes, inputs, step, gather);
}

template <class A>
void archive(A& a, Is<DimEntry> auto& e) {
  auto& [text, size] = e;
  a(text, size);
}

template <class A>
void archive(A& a, Is<InputEntry> auto& e) {
  auto& [name, type, types, dims, is_updated] = e;
  a(name, type, types, dims, is_updated);
}

template <class A>
void archive(A& a, Is<OutputEntry> auto& e) {
  auto& [name, type] = e;
  a(name, type);
}

template <class A>
void archive(A& a, Is<StateEntry> auto& e) {
  auto& [name, type, kind, is_updated, folding, result, offset, bytes] = e;
  a(name, type, kind, is_updated, folding, result, offset, bytes);
}

template <class A>
void archive(A& a, Is<ProgramFile> auto& p) {
  auto& [version, name, id, set, features, sizes, sized, foldings, inputs, outputs, state,
         callbacks, accumulate, micro_step, skip_text, random, weights, weight_file] = p;
  a(version, name, id, set, features, sizes, sized, foldings, inputs, outputs, state, callbacks,
    accumulate, micro_step, skip_text, random, weights, weight_file);
}

}  // namespace cleave::standalone
