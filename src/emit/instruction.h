// The instructions of bytecode.h, and the function behind each operation and type.
#pragma once
#include <cstdint>

#include "loop/kernel.h"

namespace cleave::emit {

union Slot {
  double f64;
  float f32;
  int64_t i64;
  int32_t i32;  // also bool, as C's int
  void* buffer;
};

struct Instruction;
using InstructionFunction = void (*)(Slot* slots, const Instruction& i);

struct Instruction {
  enum class Kind : uint8_t {
    call,          // function(slots, *this)
    jump,          // to `target`
    jump_if_zero,  // if the i32 in a is 0
    next,          // ++a; to `target` while a < b
    check,         // if the i32 in a is 0: the fault is (b, c), the result is `target`
    stop
  };
  Kind kind = Kind::call;
  int32_t dst = 0, a = 0, b = 0, c = 0, d = 0;
  int32_t target = 0;
  InstructionFunction function = nullptr;
};

// dst = op(a, b, c, d) on operands of type `t`; not for constant, var, load, select and cast.
InstructionFunction function_of(loop::Op op, DType t);
// dst = a converted to another arithmetic type.
InstructionFunction cast_function(DType from, DType to);
// dst = a rounded or wrapped to the stored dtype, in its compute type.
InstructionFunction round_function(DType stored);
struct MemoryFunctions {
  InstructionFunction load = nullptr;   // dst = buffer a at index b
  InstructionFunction store = nullptr;  // buffer a at index b = c
};
MemoryFunctions memory_functions(DType stored);
// dst = a, all 8 bytes.
InstructionFunction move_function();
// dst = combine(dst, a), and the same on dst + (b mod reduce_lanes).
InstructionFunction fold_function(loop::ReduceOp op, DType t);
InstructionFunction lane_function(loop::ReduceOp op, DType t);

}  // namespace cleave::emit
