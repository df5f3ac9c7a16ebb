#include "simt/team.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "loop/sum_blocks.h"
#include "simt/hazards.h"
#include "simt/ranges.h"

namespace cleave::simt {

namespace {

int power_of_two(int64_t n, int most) {
  return static_cast<int>(std::min<uint64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))), static_cast<uint64_t>(most)));
}

int64_t extent_of(const loop::For& f) {
  const int64_t* n = f.loop.extent.as_const_int();
  return n ? *n : f.kind == loop::ForKind::lanes ? loop::column_lanes : 0;
}

template <class F>
bool any_inside(const loop::Block& block, const F& test) {
  return std::ranges::any_of(block, [&](const loop::Stmt& s) {
    if (test(s)) return true;
    if (auto* f = std::get_if<loop::For>(&s.node)) return any_inside(f->body, test);
    if (auto* i = std::get_if<loop::If>(&s.node)) return any_inside(i->then, test);
    if (auto* r = std::get_if<loop::Reduce>(&s.node)) return any_inside(r->body, test);
    return false;
  });
}

constexpr int most_splits = 32, most_narrow_splits = 64;
constexpr int64_t narrow_columns = 8, narrow_blocks = 16;
constexpr int64_t narrow_shared_bytes = 64 * 1024;  // for the sums of all threads of a team
constexpr int64_t thread_bytes = 400;               // of columns, in registers

// That a thread holds for a column: sums, what it reads, and what it writes in each row.
int64_t column_bytes(const loop::For& f, const loop::Kernel& kernel) {
  int64_t bytes = 0;
  std::unordered_set<int64_t> seen;
  const auto add = [&](const BufferAccesses& accesses, bool writes) {
    for (const BufferAccess& a : accesses)
      if (a.is_write <= writes && seen.insert(a.buffer).second)
        bytes += size_of(kernel.buffers[static_cast<size_t>(a.buffer)].dtype);
  };
  for (const loop::Stmt& s : f.body) {
    auto* r = std::get_if<loop::Reduce>(&s.node);
    add(accesses_of(s, fold_chunk), r != nullptr);
    if (r)
      for (const loop::Fold& fold : r->folds) bytes += size_of(fold.var.type());
  }
  return bytes;
}

// Lets and Stores alone.
bool is_plain(const loop::Block& body) {
  return std::ranges::all_of(body, [](const loop::Stmt& s) {
    return std::holds_alternative<loop::Let>(s.node) || std::holds_alternative<loop::Store>(s.node);
  });
}

bool reads_and_writes_one(const loop::Block& body) {
  const BufferAccesses all = accesses_of(body, fold_chunk);
  return std::ranges::any_of(all, [&](const BufferAccess& a) {
    return a.is_write && std::ranges::any_of(all, [&](const BufferAccess& b) {
             return b.buffer == a.buffer && !b.is_write;
           });
  });
}

// Blocks of rows of the longest fold; 0: not known.
int64_t most_blocks(const loop::For& f) {
  int64_t blocks = 1;
  for (const loop::Stmt& s : f.body)
    if (auto* r = std::get_if<loop::Reduce>(&s.node)) {
      const int64_t n = most_elements(r->loops), rows = column_block(*r);
      if (n == 0) return 0;
      blocks = std::max(blocks, (n + rows - 1) / rows);
    }
  return blocks;
}

// Few columns of many rows, as of the parts of long folds: a thread has one, so that as many
// threads as there are columns and blocks have their reads under way.
bool is_narrow(const loop::For& f) {
  const int64_t n = most_elements({f.loop});
  return n > 0 && n <= narrow_columns && most_blocks(f) >= narrow_blocks;
}

}  // namespace

int column_width(const loop::For& f, const loop::Kernel& kernel) {
  if (is_narrow(f)) return 1;
  const int64_t bytes = column_bytes(f, kernel);
  for (const BufferAccess& a : accesses_of(f.body, fold_chunk)) {
    const loop::Buffer& b = kernel.buffers[static_cast<size_t>(a.buffer)];
    if (b.elements > 1 && size_of(b.dtype) <= 2 && 8 * bytes <= thread_bytes) return 8;
  }
  return 4;
}

int column_lanes_of(const loop::For& f, const loop::Kernel& kernel) {
  const int64_t n = most_elements({f.loop});
  const int64_t least = column_width(f, kernel);
  return n == 0 ? loop::column_lanes : power_of_two(std::max(n, least), loop::column_lanes);
}

int64_t column_block(const loop::Reduce& r) {
  if (r.blocks) return r.blocks->iterations;
  const int64_t n = most_elements(r.loops);  // in one block, or of any where none rounds
  return n > 0 ? n : loop::column_terms.block;
}

int column_splits(const loop::For& f) {
  const int64_t blocks = most_blocks(f);
  if (!is_narrow(f)) return power_of_two(blocks == 0 ? most_splits : blocks, most_splits);
  int64_t folds = 0;
  for (const loop::Stmt& s : f.body)
    if (auto* r = std::get_if<loop::Reduce>(&s.node)) folds += std::ssize(r->folds);
  int splits = power_of_two(blocks, most_narrow_splits);
  const int64_t of_split = folds * narrow_columns * size_of(DType::f64);
  while (splits > 1 && splits * of_split > narrow_shared_bytes) splits /= 2;
  return splits;
}

int column_threads(const loop::For& f, const loop::Kernel& kernel) {
  if (f.kind != loop::ForKind::lanes) return 0;
  bool has_folds = false;
  for (const loop::Stmt& s : f.body) {
    if (auto* r = std::get_if<loop::Reduce>(&s.node)) {
      if (r->loops.size() != 1 || !r->ordered || !is_plain(r->body)) return 0;
      has_folds = true;
    } else if (!std::holds_alternative<loop::Let>(s.node) &&
               !std::holds_alternative<loop::Store>(s.node)) {
      return 0;
    }
  }
  if (!has_folds || reads_and_writes_one(f.body)) return 0;
  for (const BufferAccess& a : accesses_of(f.body, fold_chunk))
    if (kernel.buffers[static_cast<size_t>(a.buffer)].access == loop::Access::local) return 0;
  return column_lanes_of(f, kernel) / column_width(f, kernel) * column_splits(f);
}

bool is_tile(const loop::For& f, const loop::Kernel& kernel) {
  if (f.kind != loop::ForKind::independent || f.body.size() != 1) return false;
  auto* g = std::get_if<loop::For>(&f.body[0].node);
  if (!g || g->kind != loop::ForKind::independent || !is_plain(g->body)) return false;
  for (const loop::Loop& side : {f.loop, g->loop})
    if (const int64_t n = most_elements({side}); n == 0 || n > tile_side) return false;
  if (reads_and_writes_one(g->body)) return false;
  return std::ranges::none_of(accesses_of(g->body, fold_chunk), [&](const BufferAccess& a) {
    return kernel.buffers[static_cast<size_t>(a.buffer)].access == loop::Access::local;
  });
}

int fold_threads(int64_t n) {
  const int64_t chunks = (n + fold_chunk - 1) / fold_chunk;
  if (n <= 0) return warp_lanes;
  if (n <= 2048) return power_of_two(chunks, warp_lanes);
  return n <= 8192 ? 128 : n <= 32768 ? 256 : n <= 65536 ? 512 : max_threads;
}

int64_t most_elements(const std::vector<loop::Loop>& loops) {
  Ranges ranges;
  int64_t n = 1;
  for (const loop::Loop& l : loops) {
    const auto most = ranges.most(l.extent);
    if (!most || *most > (int64_t{1} << 40) / std::max<int64_t>(n, 1)) return 0;
    n *= std::max<int64_t>(*most, 0);
  }
  return n;
}

bool is_spread(const loop::Reduce& r) { return !r.ordered; }

bool has_independent_iterations(const loop::For& f) {
  // A serial loop that was found to run in vectors stores to another place in each iteration, and
  // reads nothing that it stores elsewhere (schedule/lane_check.h).
  return f.kind == loop::ForKind::independent ||
         (f.kind == loop::ForKind::serial && f.vectors.any());
}

bool is_spread(const loop::For& f) {
  if (!has_independent_iterations(f) && f.kind != loop::ForKind::lanes) return false;
  return !any_inside(f.body, [&](const loop::Stmt& s) {
    if (auto* r = std::get_if<loop::Reduce>(&s.node)) return is_spread(*r);
    auto* inner = std::get_if<loop::For>(&s.node);
    return inner && is_spread(*inner) && extent_of(*inner) > extent_of(f);
  });
}

int team_threads(const loop::Block& body, const loop::Kernel& kernel) {
  int threads = 1;
  for (const loop::Stmt& s : body) {
    int here = 1;
    if (auto* r = std::get_if<loop::Reduce>(&s.node)) {
      if (is_spread(*r)) here = fold_threads(most_elements(r->loops));
    } else if (auto* f = std::get_if<loop::For>(&s.node)) {
      if (is_tile(*f, kernel)) {
        here = tile_threads;
      } else if (!is_spread(*f)) {
        here = team_threads(f->body, kernel);
      } else if (const int64_t n = extent_of(*f); f->kind == loop::ForKind::lanes) {
        here = power_of_two(n, loop::column_lanes);
        if (const int own = column_threads(*f, kernel); own > 0) here = own;
      } else {
        here = n == 0 ? warp_lanes : n < loop::reduce_lanes ? 1 : fold_threads(n);
      }
    } else if (auto* i = std::get_if<loop::If>(&s.node)) {
      here = team_threads(i->then, kernel);
    }
    threads = std::max(threads, here);
  }
  return threads;
}

}  // namespace cleave::simt
