// Rows whose elements read the same numbers of each column, as of a batch norm: a thread takes a
// chunk of columns of several rows, so that it reads these numbers once, and the rows at once.
//
//   for p in 401408 parallel {              thread: chunk c of rows 4*q to 4*q + 3
//     for j in 256 independent {              copy %mean[c], %weight[c]
//       y[p,j] = (x[p,j] - mean[j])*weight[j]   copy %x[row, c] of each
//     }                                         compute, write each
//   }
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "loop/replace.h"
#include "simt/phase_writer.h"
#include "simt/team.h"

namespace cleave::simt {

using loop::Op;

namespace {

constexpr int64_t most_rows = 4, most_row_bytes = 192;  // of a thread, all of them together
constexpr int few_threads = 128, most_threads = 320, warp = 32;

// Of a block: its threads, of which teams of so many work, one for each chunk of a row. Nothing
// waits for a team, so that it needn't be a power of two: the block is the least, of at least
// few_threads, with the fewest threads left over.
struct RowThreads {
  int team, all;
};
RowThreads threads_of(int64_t chunks, int team) {
  if (chunks > most_threads) return {team, std::max(team, few_threads)};
  const int of_row = static_cast<int>(chunks);
  RowThreads out{of_row, 0};
  const auto idle = [&](int threads) { return threads % of_row; };
  for (int n = few_threads; n <= most_threads; n += warp)
    if (n >= of_row && (out.all == 0 || int64_t{idle(n)} * out.all < int64_t{idle(out.all)} * n))
      out.all = n;
  return out;
}

// The loop that is all of an iteration, and only computes and stores; null: there is none.
const loop::For* only_loop(const loop::For& f) {
  if (f.body.size() != 1) return nullptr;
  auto* row = std::get_if<loop::For>(&f.body[0].node);
  const bool is_plain = row && has_independent_iterations(*row) &&
                        std::ranges::all_of(row->body, [](const loop::Stmt& s) {
                          return std::holds_alternative<loop::Let>(s.node) ||
                                 std::holds_alternative<loop::Store>(s.node);
                        });
  return is_plain ? row : nullptr;
}

}  // namespace

// How many rows a thread takes at once: one where little that is read is of all rows, or there are
// few of them, and a team of a power of two would leave threads idle. 0: they are no such rows.
int64_t PhaseWriter::rows_at_once(const loop::For& f, int team) const {
  const loop::For* row = only_loop(f);
  const int64_t* length = row ? row->loop.extent.as_const_int() : nullptr;
  if (!length || *length < fold_chunk || *length % fold_chunk != 0 || team < 2 ||
      fold_threads(*length) != team)
    return 0;
  int64_t of_row = 0, of_all = 0;  // bytes of a chunk
  std::unordered_set<int64_t> seen;
  for (const BufferAccess& a : accesses_of(f.body, fold_chunk)) {
    const loop::Buffer& b = from_.buffers[static_cast<size_t>(a.buffer)];
    if (b.access == loop::Access::local) return 0;
    if (!seen.insert(a.buffer).second) continue;
    const bool is_of_row = !a.index.defined() || loop::has_variable(a.index, f.loop.var);
    if (is_of_row || b.elements > 1) (is_of_row ? of_row : of_all) += fold_chunk * size_of(b.dtype);
  }
  const int64_t n = *f.loop.extent.as_const_int();
  int64_t rows = of_all >= of_row ? most_rows : 1;
  while (rows > 1 && (rows * of_row > most_row_bytes || n % rows != 0 ||
                      n / rows * team < 4 * sizes_.many_blocks * few_threads))
    rows /= 2;
  const int64_t chunks = *length / fold_chunk;
  const bool fills_teams = std::has_single_bit(static_cast<uint64_t>(chunks));
  return rows > 1 || (!fills_teams && chunks <= most_threads) ? rows : 0;
}

void PhaseWriter::rows(const loop::For& f, int folding_team, int64_t rows) {
  const loop::For& row = *only_loop(f);
  const int64_t chunks = *row.loop.extent.as_const_int() / fold_chunk;
  const int64_t groups = *f.loop.extent.as_const_int() / rows;
  const auto [team, threads] = threads_of(chunks, folding_team);
  begin(team, threads);
  in_columns_ = true;
  const int64_t blocks = (groups + teams_ - 1) / teams_;
  ranges_.set(block_, Range{0, blocks - 1});
  Block body, inside;
  const Expr group = fresh("group"), first = fresh("row"), member = fresh("member");
  let(member, binary(Op::truncmod, thread_, Expr(team)), body);
  member_ = member;
  let(group, block_ * Expr(teams_) + binary(Op::truncdiv, thread_, Expr(team)), body);
  ranges_.set(group, Range{0, groups - 1});  // where it is used
  let(first, group * Expr(rows), inside);
  const Elements elements{.count = row.loop.extent,
                          .chunk = fold_chunk,
                          .repeats = rows,
                          .row = f.loop.var,
                          .first_row = first,
                          .loops = {row.loop},
                          .body = &row.body};
  const int64_t slots = (chunks + team - 1) / team;
  For each{.var = fresh("slot"), .begin = Expr(0), .end = Expr(slots)};
  ranges_.set(each.var, Range{0, slots - 1});
  const Expr number = fresh("chunk");
  Block made;
  let(number, slots == 1 ? member : member + each.var * Expr(team), made);
  ranges_.set(number, Range{0, chunks - 1});
  Block of_chunk;
  chunk(elements, number, Expr(0), of_chunk);
  if (chunks % team == 0)
    made.insert(made.end(), of_chunk.begin(), of_chunk.end());
  else
    made.push_back({If{binary(Op::lt, number, Expr(chunks)), std::move(of_chunk), {}}});
  if (slots == 1) {
    inside.insert(inside.end(), made.begin(), made.end());
  } else {
    each.body = std::move(made);
    inside.push_back({std::move(each)});
  }
  in_columns_ = false;
  const auto only_if = [&](const Expr& condition) {
    Block all;
    all.push_back({If{condition, std::move(inside), {}}});
    inside = std::move(all);
  };
  if (groups % teams_ != 0) only_if(binary(Op::lt, group, Expr(groups)));
  if (threads % team != 0) only_if(binary(Op::lt, thread_, Expr(teams_ * team)));
  body.insert(body.end(), inside.begin(), inside.end());
  end(blocks, threads, std::move(body));
}

}  // namespace cleave::simt
