// Where the threads of a team must wait for each other: between two accesses of a buffer of which
// one writes, unless it is known that one and the same thread makes both for each element.
#pragma once
#include <vector>

#include "simt/kernel.h"

namespace cleave::simt {

struct BufferAccess {
  // all: each thread the same element. one: the first thread. spread: an element is its owner's,
  // which `share` tells for the loop variable's value.
  enum class Who : uint8_t { all, one, spread };
  int64_t buffer = 0;
  bool is_write = false;
  Who who = Who::all;
  loop::Expr share;  // the extent of the loop that is shared out; undefined: other shares
  int64_t chunk = 0;
  loop::Expr index;  // with the loop's variable replaced by one that all loops share; or undefined
  bool is_fixed = false;  // the index is the same in each iteration of loops around it
};
using BufferAccesses = std::vector<BufferAccess>;

// Of one statement that a team runs. `loop_chunk`: neighbours that a thread takes of a loop.
BufferAccesses accesses_of(const loop::Stmt& s, int64_t loop_chunk);
BufferAccesses accesses_of(const loop::Block& b, int64_t loop_chunk);
// What stands in `index` for the variable of the loop that is shared out.
const loop::Expr& shared_variable();

bool conflict(const BufferAccesses& before, const BufferAccesses& after);
// Between iterations of a serial loop.
bool conflict_in_loop(const loop::For& f, int64_t loop_chunk);

}  // namespace cleave::simt
