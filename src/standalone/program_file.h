// A program as a library holds it, in bytes (base/archive.h): what a run reads, what its caller
// sees of it, and where its weights are.
//
//   step      the program
//   folding   computes constants of `step` from other constants, once (CompileOptions::freeze)
//
// The functions of both are tables of the library's: the phases of kernels in order, and the C text
// of operators, of `step` first.
#pragma once
#include "cleave/weight_place.h"
#include "run/archive_program.h"
#include "run/phase.h"

namespace cleave::standalone {

constexpr uint32_t file_version = 1;

struct KernelEntry {
  std::vector<KernelPhase> phases;  // of extents alone
  std::vector<CheckText> checks;
  int64_t work = 0;
};

struct ProgramEntry {
  ThunkProgram thunks;  // C text and symbols are left out
  std::vector<int64_t> offsets;
  int64_t arena_bytes = 0;
  std::vector<KernelEntry> kernels;
};

// What a caller passes or gets.
struct TensorEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // as the program reads and writes it
};

struct InputEntry {
  TensorEntry tensor;
  size_t placeholder = 0;
  bool is_updated = false;
};

struct OutputEntry {
  TensorEntry tensor;
  size_t result = 0;  // its number in `return`
};

enum class StateKind : uint8_t {
  state,     // read and written by runs, or read alone
  constant,  // set by set_constants alone
  folded,    // a result of `folding`; isn't the caller's
};

struct StateEntry {
  TensorEntry tensor;
  StateKind kind = StateKind::state;
  bool is_updated = false;
  std::optional<size_t> placeholder;  // of `step`
  std::optional<size_t> operand;      // a placeholder of `folding`
  std::optional<size_t> result;       // of `folding`: of folded
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
  ProgramEntry step;
  std::optional<ProgramEntry> folding;
  std::vector<InputEntry> inputs;
  std::vector<OutputEntry> outputs;
  std::vector<StateEntry> state;
  std::vector<std::string> callbacks;  // of step, in the order of its calls
  // What the check says that stops a step which is to be skipped then; empty: none is. The state
  // then changes in the second number of `random` alone, which counts runs.
  std::string skip_text;
  std::optional<size_t> random;  // an entry of the state
  WeightPlace weights = WeightPlace::none;
  std::string weight_file;  // beside: its name, in the folder of the library
};

template <class A>
void archive(A& a, Is<KernelEntry> auto& k) {
  auto& [phases, checks, work] = k;
  a(phases, checks, work);
}

template <class A>
void archive(A& a, Is<ProgramEntry> auto& p) {
  auto& [thunks, offsets, arena_bytes, kernels] = p;
  a(thunks, offsets, arena_bytes, kernels);
}

template <class A>
void archive(A& a, Is<TensorEntry> auto& t) {
  auto& [name, dtype, shape, strides] = t;
  a(name, dtype, shape, strides);
}

template <class A>
void archive(A& a, Is<InputEntry> auto& i) {
  auto& [tensor, placeholder, is_updated] = i;
  a(tensor, placeholder, is_updated);
}

template <class A>
void archive(A& a, Is<OutputEntry> auto& o) {
  auto& [tensor, result] = o;
  a(tensor, result);
}

template <class A>
void archive(A& a, Is<StateEntry> auto& s) {
  auto& [tensor, kind, is_updated, placeholder, operand, result, offset, bytes] = s;
  a(tensor, kind, is_updated, placeholder, operand, result, offset, bytes);
}

template <class A>
void archive(A& a, Is<ProgramFile> auto& p) {
  auto& [version, name, id, set, features, step, folding, inputs, outputs, state, callbacks,
         skip_text, random, weights, weight_file] = p;
  a(version, name, id, set, features, step, folding, inputs, outputs, state, callbacks, skip_text,
    random, weights, weight_file);
}

}  // namespace cleave::standalone
