// The loop nest of one kernel.
//
//   kernel %y(%x: f32[8192] read, %y: f32[8192] write) work 8192 {
//     for i in 64 parallel {
//       for j in 128 independent {
//         %y[i*128 + j] = %x[i*128 + j] + 1.0
//       }
//     }
//   }
//
// parse.h has the grammar of this text, which holds all of a kernel.
//
// Buffers are linear memory; layouts are already folded into the index expressions. Parallel loops
// are outermost only, and their iterations write disjoint elements. A Reduce folds one or several
// values over its loops: the innermost loop in 16 interleaved lanes (element j in lane j mod 16),
// which are combined pairwise at the end (8, 4, 2, 1); an innermost loop of less than 16 in plain
// order; a long sum in blocks (sum_blocks.h). So the shape fixes the order.
//
// A local buffer belongs to one iteration of a parallel loop: a row that is read again after its
// sum.
//
// src/schedule decides how each loop runs, and writes it into the kernel; the values don't change:
//
//   for p in 8192 parallel rows 128 shared 2 by 16 {        rows of 128; 16 iterations in a vector
//   for j in 100 independent by 16 tail {                   the last vector is partial
//   fold over i in 500 blocks 2, j in 40 by 16 tail {       summed in blocks of 2 * 40
//   fold over i in 9, j in 7 ordered {                      one accumulator, in plain order
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "loop/expr.h"

namespace cleave::loop {

constexpr int reduce_lanes = 16;

// lanes: a loop of at most `column_lanes` iterations directly inside a parallel loop. Each
// statement runs for all lanes before the next one does, and a Reduce in it has one accumulator per
// lane, folded in plain order (so sums over leading dims read whole cache lines). independent:
// iterations store disjoint elements and read none that another stores, so that they may run in a
// vector.
enum class ForKind : uint8_t { serial, parallel, lanes, independent };
constexpr int column_lanes = 64;
// Whether a loop of this extent may have more than so many iterations.
bool may_exceed(const Expr& extent, int64_t iterations);
// Local buffers are on the stack of the thread that runs a piece.
constexpr int64_t max_local_bytes = 64 << 10;
enum class ReduceOp : uint8_t { sum, prod, max, min, any, all };  // max and min propagate NaN
std::string_view name_of(ReduceOp op);
// The neutral element: 0, 1, -inf or the least integer, ...
Expr identity_of(ReduceOp op, DType type);

struct Stmt;
using Block = std::vector<Stmt>;

struct Loop {
  Expr var;  // i64
  Expr extent;
};
// The iterations of a loop in a vector.
struct Vectors {
  int lanes = 1;          // 1, 16, or 64 in a loop over columns
  bool has_tail = false;  // the last vector may be partial
  bool any() const { return lanes > 1; }
  friend bool operator==(const Vectors&, const Vectors&) = default;
};
// A parallel loop over the elements of rows of n:
//
//   for p in 64*n parallel { let q = p / n   ...   let i = p - q*n   ... }
//
// The first statements have equal values within a row, so they run once per row.
struct Rows {
  Expr length;        // iterations of a row; undefined if the loop isn't over rows
  size_t shared = 0;  // statements run once per row; the first is the let of the row's number
};
struct For {
  Loop loop;
  ForKind kind = ForKind::serial;
  Block body;
  // ---- how it runs
  Vectors vectors = {};
  Rows rows = {};
  Expr next = {};    // the next row's number, if loops inside prefetch from it
  Exprs ahead = {};  // loads of the next row that each vector prefetches
};
struct Let {
  Expr var, value;
};  // immutable
struct Define {
  Expr var, value;
};  // mutable
struct Assign {
  Expr var, value;
};
struct Fold {
  ReduceOp op = ReduceOp::sum;
  Expr var;  // the result
  Expr value;
};
// How a long sum is split into blocks (sum_blocks.h).
struct SumBlocks {
  size_t loop = 0;         // which loop of the Reduce
  int64_t iterations = 1;  // of that loop in a block; for the innermost one a multiple of the lanes
  friend bool operator==(const SumBlocks&, const SumBlocks&) = default;
};
struct Reduce {
  std::vector<Loop> loops;  // outermost first
  Block body;               // Lets, Stores and Checks of each element, before the values
  std::vector<Fold> folds;
  // ---- how it runs
  bool ordered = false;  // one accumulator per fold, else one per lane
  Vectors vectors = {};  // of the innermost loop
  std::optional<SumBlocks> blocks = {};
  // Elements that each iteration of the innermost loop prefetches: as in For, or, in a loop over
  // columns, those of later rows, which may be only stored.
  Exprs ahead = {};
};
struct Store {
  int64_t buffer = 0;
  Expr index;  // linear, i64
  Expr value;  // in the compute type of the buffer's dtype
};
struct If {
  Expr condition;
  Block then;
};
// Stops the program with a UserError if the condition is false.
struct Check {
  Expr condition;
  Expr value, bound;       // i64, for the message "index {value} is out of range [-bound, bound)"
  std::string message;     // such as "embedding: indices"; with bound -1 it is the whole message
  bool from_zero = false;  // the range is [0, bound)
};
// Its copy operations aren't inline: a variant of eight kinds is large code in each file.
struct Stmt {
  using Node = std::variant<For, Let, Define, Assign, Reduce, Store, If, Check>;
  Node node;

  Stmt();
  Stmt(Node n);
  Stmt(const Stmt& from);
  Stmt(Stmt&& from) noexcept;
  Stmt& operator=(const Stmt& from);
  Stmt& operator=(Stmt&& from) noexcept;
  ~Stmt();
};

enum class Access : uint8_t { read, write, update, local };

struct Buffer {
  std::string name;  // of the graph's value
  DType dtype = DType::f32;
  int64_t elements = 0;  // size of the memory, in elements
  Access access = Access::read;
};

// An argument of 8 bytes: a stream, or a number that differs between calls of the kernel.
struct Scalar {
  std::string name;
  DType type = DType::i64;  // or f32, in the lower 4 bytes
  Exprs values = {};        // for the reader: the constants that calls pass, if known
};

struct Kernel {
  std::string name;             // of the graph's value that it computes
  std::vector<Buffer> buffers;  // local ones, which are no arguments, come last
  std::vector<Scalar> scalars;
  Block body;
  // Elements that the whole kernel visits; decides into how many pieces a parallel loop is split.
  int64_t work = 0;
  bool is_scheduled = false;  // says how its loops run
};
// Of all its local buffers, each in whole cache lines.
int64_t local_bytes(const Kernel& k);
// The variable of a scalar: -1 for the first, -2, ...
Expr scalar_var(const Kernel& k, size_t scalar);

std::string print(const Kernel& k);
// Checks scopes, types, buffer numbers, parallel loops (outermost only), stores (to writable
// buffers only), and how loops run.
Status verify(const Kernel& k);

}  // namespace cleave::loop
