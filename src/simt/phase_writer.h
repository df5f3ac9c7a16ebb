// Writes the phases of a kernel, one after the other (map_threads.h).
#pragma once
#include <functional>
#include <optional>
#include <unordered_set>

#include "simt/affine.h"
#include "simt/hazards.h"
#include "simt/kernel.h"
#include "simt/map_threads.h"
#include "simt/ranges.h"

namespace cleave::simt {

// The elements of a fold or a loop, in row-major order of its loops, of which a thread takes
// `chunk` neighbours at a time.
struct Elements {
  Expr count;
  int64_t chunk = 1;
  // Chunks of a thread, `stride` elements apart, whose reads all come before its writes.
  int64_t repeats = 1, stride = 0;
  // Threads beyond the last element have a chunk too.
  bool may_be_beyond = false;
  bool is_whole = false;  // all of a thread's chunks are there
  // Or the repeats are the chunk's elements at so many values of another loop's variable.
  Expr row = {}, first_row = {};
  std::vector<loop::Loop> loops;
  size_t shared = 0;  // the first statements have equal values for the elements of a chunk
  const loop::Block* body = nullptr;
  const std::vector<loop::Fold>* folds = nullptr;
  // By fold: the variable that its values are folded into, one after the other; or instead a buffer
  // of the thread with a sum for each of a chunk.
  Exprs sums;
  std::vector<int64_t> sum_buffers;
  Exprs totals;  // and what these are added to after a chunk; undefined: nothing is
};

class PhaseWriter {
 public:
  PhaseWriter(const loop::Kernel& from, Kernel& to, int64_t next_variable, const MapSizes& sizes,
              const std::optional<BufferPairs>& shared)
      : from_(from), to_(to), next_(next_variable), sizes_(sizes), shared_(shared) {}
  void parallel(const loop::For& f);
  void serial(const loop::Block& statements);

 private:
  // Where a local buffer is in this phase.
  struct Local {
    enum class How : uint8_t { own, owned, shared };  // of one thread; its share of one; of a team
    int64_t buffer = 0;
    How how = How::own;
    int64_t elements = 0;
    // Memory of the device that a thread's share stands for until the iteration ends.
    Expr back_index = {}, share = {};
  };
  void promote(const loop::Block& body, const BufferAccesses& accesses);
  void write_back(Block& out);
  void begin(int team, int threads);
  void place_locals(const loop::Block& body);
  void end(int64_t blocks, int threads, Block body);
  void flat(const loop::For& f);
  void flat_parts(const loop::For& f);
  const loop::For* flat_row(const loop::For& f) const;
  void flat_rows(const loop::For& f, const loop::For& row);
  int64_t flat_chunk(const loop::Block& body, int64_t n) const;
  int64_t flat_repeats(const loop::For& f, int64_t block_elements) const;
  void teams(const loop::For& f, int team);
  int64_t rows_at_once(const loop::For& f, int team) const;
  void rows(const loop::For& f, int team, int64_t rows);

  // ---- statements that a team runs
  void team_block(const loop::Block& b, Block& out);
  void team_stmt(const loop::Stmt& s, Block& out);
  void spread_loop(const loop::For& f, Block& out);
  void columns(const loop::For& f, Block& out);
  void tile(const loop::For& f, Block& out);
  void find_turned(const loop::For& f, const loop::For& g, int64_t width);
  void columns_fold(const loop::Reduce& r, const Elements& columns, int lanes, const Expr& split,
                    int splits, const Expr& first, Block& out);
  // What the folds of columns have: of each thread, and of all that share a column's rows.
  struct ColumnSums {
    const std::vector<loop::Fold>& folds;
    int lanes = 0, splits = 1;
    Expr first;                                      // column of the thread
    std::vector<int64_t> sums, totals, shared = {};  // buffers, by fold
    Expr own = {};                                   // where those of the team begin in `shared`
    // A total is one thread's: that of fold and column.
    bool is_shared_out = false;
    Expr column = {};  // in `shared`
    Exprs own_totals = {};
  };
  void set_columns(const std::vector<int64_t>& to, const Elements& columns, Block& out,
                   const std::function<Expr(size_t array, const Expr& k, DType type)>& value);
  void for_each_total(const ColumnSums& sums, Block& out,
                      const std::function<void(size_t fold, Block&)>& body);
  void begin_totals(ColumnSums& sums, const Elements& columns, Block& out);
  void add_totals(const ColumnSums& sums, const Elements& columns, Block& out);
  void end_totals(const ColumnSums& sums, const Elements& columns, Block& out);
  void columns_rows(Elements row, const Expr& first, const Expr& begin, int64_t block, int splits,
                    const Expr& all, Block& out);
  void for_each_column(const Elements& columns, Block& out,
                       const std::function<void(const Expr& k, Block&)>& body);
  void spread_fold(const loop::Reduce& r, Block& out);
  void combine_team(const std::vector<loop::Fold>& folds, const Exprs& sums, Block& out);
  int sharers(const std::vector<loop::Loop>& loops, int64_t chunk) const;
  void spread(const Elements& elements, Block& out);
  void spread_among(const Elements& elements, int threads, Block& out);
  int64_t spread_groups(const Elements& elements, int threads, Block& out);
  bool keeps_slots(const Elements& elements, int64_t slots) const;
  bool stage_row(const Elements& elements, int threads, int64_t slots, Block& out);
  void spread_slots(const Elements& elements, int threads, int64_t slots, Block& out);
  void chunk(const Elements& elements, const Expr& number, const Expr& slot, Block& out);
  void chunk_at(const Elements& elements, const Expr& first, Block& out);
  void chunk_elements(const Elements& elements, const Expr& first, bool is_full, Block& out);

  // ---- statements of one thread
  void thread_block(const loop::Block& b, Block& out);
  void thread_stmt(const loop::Stmt& s, Block& out);
  void ordered_fold(const loop::Reduce& r, Block& out);
  void fold_nest(const loop::Reduce& r, size_t depth, const Exprs& sums, const Exprs& totals,
                 Block& out);
  void serial_loop(const loop::Loop& l, Block& out, const std::function<void(Block&)>& body);
  Expr expr(const Expr& e) const;
  Expr extent(const Expr& e) { return ranges_.decided(expr(e)); }
  void let(const Expr& var, const Expr& value, Block& out);
  void var(const Expr& var, const Expr& value, Block& out);
  void barrier(Block& out);

  Expr fresh(const char* name, DType type = DType::i64);
  int64_t add_buffer(std::string name, DType type, int64_t elements, Space space);
  Expr local_index(const Local& local, const Expr& index) const;

  const loop::Kernel& from_;
  Kernel& to_;
  int64_t next_;
  const MapSizes sizes_;
  const std::optional<BufferPairs>& shared_;
  int parts_ = 0;  // loops that were split
  // ---- of the phase
  Ranges ranges_;
  Affines affines_;
  int team_ = 1, teams_ = 1;  // threads of a team, teams of a block
  int at_once_ = 1;           // of the phase, once it is written
  Expr block_, thread_, member_, team_number_;
  bool one_stores_ = false;  // all threads of a team run a statement of which one may store
  BufferAccesses pending_;   // since the team waited
  std::unordered_map<int64_t, Local> locals_;
  int64_t scratch(size_t place, DType type, int64_t elements);
  std::vector<int64_t> scratch_;  // of the block, for sums
  size_t first_buffer_ = 0;       // that the phase added
  // ---- of the chunk
  Expr own_index_;  // in buffers of which threads own their shares
  struct Wide {
    int64_t local = 0, buffer = 0;
    Expr index;
    Exprs first_indices;  // of each repeat
    bool is_read = false, is_written = false;
    bool is_kept = false;
    Expr by_element = {};    // the index by what stands for all loops' variables
    int64_t row = -1;        // or read of this buffer of the block, which has the row's elements
    bool is_of_all = false;  // of several rows: read once
  };
  std::vector<Wide> find_wide(const Elements& elements, const Expr& from);
  std::vector<Wide> wide_;
  Expr wide_index_;
  // What a thread has read of buffers that the phase doesn't write, or written where no other
  // statement writes them, for later loops over the same elements: the buffer of the thread.
  struct Kept {
    int64_t buffer = 0;
    Expr index;  // with the loop's variable replaced by the shared one
    int64_t elements = 0, chunk = 0, repeats = 0;  // of the loop
    int64_t slot = 0;                              // of the thread's chunks
    int64_t local = 0;
    bool is_row = false;  // `local` is the block's, and has all elements in their order
  };
  std::vector<Kept> kept_;
  const Kept* kept_as(const Kept& kept) const;
  static constexpr int64_t any_slot = -1;
  int64_t slot_ = 0;                          // that is written; any_slot: one of several
  bool keeps_ = false;                        // each slot has registers of its own
  std::unordered_set<int64_t> read_again_;    // buffers, by another loop over the same elements
  bool in_columns_ = false;                   // whose threads share elements out in another way
  std::unordered_map<int64_t, int> written_;  // buffers, in this phase, and by how many statements
  // ---- of a tile: what it reads across, in shared memory
  struct Turned {
    int64_t shared = 0, buffer = 0;
    Expr index, read;  // as it is written, and by the loops' variables alone
  };
  std::vector<Turned> turned_;
  Expr turned_index_;
  // Variables with a value for each column of a thread, in buffers of the thread.
  std::unordered_map<int64_t, int64_t> arrays_;
  Expr array_index_;
};

}  // namespace cleave::simt
