// Runs kernels without a compiler: each phase is a flat list of instructions on slots of 8 bytes,
// one for each variable, constant and intermediate value.
//
//   CLEAVE_TRY(Bytecode code, ...)             for i in 64 { y[i] = x[i] + 1.0 }
//
//   2 load_f32    i -> t                        slot t = x[i]
//   3 add_f32     t, one -> u
//   4 store_f32   i, u                          y[i] = slot u
//   5 next        i, 64 -> 2                    ++i; jump to 2 while i < 64
//
// The results have the bits of the compiled C text: the same functions (kernel_functions.h) in the
// same order, reductions in the same lanes. An instruction takes about 2 ns, so a kernel takes some
// 20 to 100 times as long as compiled: useful for small programs that run once, and if there is no
// compiler. The statements of a `lanes` loop run lane by lane, which gives the same values, since
// the lanes of one loop write disjoint elements.
#pragma once
#include <memory>

#include "emit/c_source.h"

namespace cleave::emit {

union Slot;
struct Instruction;

// One phase of a kernel. Immutable; any number of threads may run it at once.
class Bytecode final : public InterpretedPhase {
 public:
  // As the functions of c_source.h: 0, or the number of the failed check with its index and bound.
  int64_t run(void* const* buffer, const int64_t* scalar, int64_t begin, int64_t end,
              int64_t* fault) const override;

  explicit Bytecode(size_t buffers, size_t scalars);
  ~Bytecode() override;
  Bytecode(const Bytecode&) = delete;
  Bytecode& operator=(const Bytecode&) = delete;

 private:
  friend class BytecodeWriter;
  std::vector<Instruction> code_;
  std::vector<Slot> slots_;  // initial values: holds the constants
  void add_local(size_t buffer, const loop::Buffer& b);
  size_t buffers_, scalars_;
  std::vector<std::pair<size_t, int64_t>> locals_;  // buffer, offset of its memory
  int64_t local_bytes_ = 0;
  int32_t begin_ = 0, end_ = 0;  // slots of the arguments
};

struct BytecodePhase {
  std::shared_ptr<const Bytecode> code;
  int64_t extent = 1;  // iterations of the parallel loop; 1 for a serial phase
};

struct BytecodeKernel {
  std::vector<BytecodePhase> phases;  // as in emit_c
  std::vector<CheckText> checks;
};

// Of a kernel that is scheduled.
BytecodeKernel emit_bytecode(const loop::Kernel& kernel);

}  // namespace cleave::emit
