// The expressions that are alive, each once: what is equal is one node, so that equality is that
// of pointers.
//
//   a * Expr(8) + b      finds  8      a * 8      a * 8 + b      if somebody holds them
//
// Two nodes are equal if operation, type, operands and what the operation says beside them are: of
// numbers the bits, so that 0.0 and -0.0 are two. The table holds nothing: a node leaves it with
// its last holder, on whatever thread; slots stay, as many as the most that were in use. Safe for
// any number of threads.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "loop/expr.h"

namespace cleave::loop {

class ExprTable {
 public:
  // The one table of the process. It gives back what was made before, or makes the same: nothing
  // that is computed can depend on what else it holds.
  static ExprTable& all();

  // The node of this operation, held once more for the caller.
  const ExprNode* find_or_make(Op op, DType type, Operands args, int64_t own, std::string name);
  // Of a node that nobody holds.
  void remove(const ExprNode* node);
  size_t size();

 private:
  // Slots are probed one after the other; a power of two of them, at most half of them in use.
  struct Slot {
    size_t hash = 0;
    const ExprNode* node = nullptr;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Slot> slots = std::vector<Slot>(64);
    size_t used = 0;

    size_t next(size_t at) const { return (at + 1) & (slots.size() - 1); }
    size_t first(size_t hash) const { return hash & (slots.size() - 1); }
    void add(Slot slot);
    void erase(size_t at);
    void grow();
  };
  static bool hold_if_held(const ExprNode& node);
  // By the upper bits of the hash, so that threads seldom wait for one another.
  Shard& shard_of(size_t hash) { return shards_[hash >> 60]; }

  std::array<Shard, 16> shards_;
};

}  // namespace cleave::loop
