// A kernel as the threads of a GPU run it: launches of blocks of threads, with barriers, shared
// memory and exchanges between the lanes of a warp written out. map_threads.h makes it of a loop
// nest, cuda_text.h prints it, simulate.h runs it thread by thread.
//
//   for p in 512 parallel {                       launch of 128 blocks of 128 threads:
//     fold over r in 768 blocks 128 {              p = block*4 + thread/32, in a team of 32 threads
//       s = sum of %x[p*768 + r]                    each sums 8 elements at a time, every 256
//     }                                             exchange: the sums of the team, in f64
//     for j in 768 independent {                    each stores 8 elements at a time, every 256
//       %y[p*768 + j] = %x[p*768 + j] / s
//     }
//   }
//
// Expressions are those of loop nests. Indices that fit are i32: division of 64 bits is slow on a
// GPU.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "loop/kernel.h"

namespace cleave::simt {

using loop::Assign;
using loop::Check;
using loop::Define;
using loop::Expr;
using loop::Exprs;
using loop::Let;
using loop::Store;

constexpr int warp_lanes = 32;
constexpr int max_threads = 1024;  // of a block

struct Stmt;
using Block = std::vector<Stmt>;

struct For {
  Expr var, begin, end;
  int64_t step = 1;
  Block body;
  int unrolled = 1;  // iterations written side by side; 0: all
};
struct If {
  Expr condition;
  Block then, otherwise;
};
// Waits for the threads of a team, whose memory accesses before it come first for all of them.
// width: its threads, a power of two; more than a warp: all of the block.
struct Barrier {
  int width = warp_lanes;
};
// `var` is `value` in the thread whose number in its team of `width` lanes differs in the bit
// `distance`. All threads of a team take part.
struct Exchange {
  Expr var, value;
  int distance = 1, width = warp_lanes;
};
// `count` elements from `index` on of a buffer of the device or the block, and from `at` on of one
// of the thread, in accesses of up to 16 bytes. The index is a multiple of `count`.
struct CopyIn {
  int64_t to = 0, from = 0;
  Expr index;
  int64_t at = 0, count = 0;
};
struct CopyOut {
  int64_t to = 0, from = 0;
  Expr index;
  int64_t at = 0, count = 0;
};
// From a buffer of the device to one of the block, past the registers: it is there for this thread
// behind its next CopyWait. `count` elements of 16 bytes or a multiple; both indices are multiples.
struct CopyAhead {
  int64_t to = 0, from = 0;
  Expr at, index;
  int64_t count = 0;
};
struct CopyWait {};
struct Stmt {
  std::variant<For, Let, Define, Assign, Store, If, Check, Barrier, Exchange, CopyIn, CopyOut,
               CopyAhead, CopyWait>
      node;
};

// global: memory of the device. shared: of the block. thread: of one thread; registers, where all
// indices are constants once loops are unrolled.
enum class Space : uint8_t { global, shared, thread };
struct Buffer : loop::Buffer {
  Space space = Space::global;
  // Of the device: no other one is in its memory.
  bool is_alone = false;
};

// One launch.
struct Phase {
  int64_t blocks = 1;
  int threads = 1;     // of a block
  Expr block, thread;  // their numbers
  Block body;
  int at_once = 1;  // blocks that a processor has room for, at least: bounds a thread's registers
  int part_of = 0;  // of which loop it is one of several parts (split_parts.h); 0: of none
};

struct Kernel {
  std::string name;
  std::vector<Buffer> buffers;  // first those of the loop nest, in their order
  std::vector<loop::Scalar> scalars;
  std::vector<Phase> phases;  // one after the other
};

}  // namespace cleave::simt
