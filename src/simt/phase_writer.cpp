#include "simt/phase_writer.h"

#include <algorithm>
#include <unordered_set>

#include "loop/replace.h"
#include "simt/drop_unread.h"
#include "simt/narrow.h"
#include "simt/read_ahead.h"
#include "simt/split_parts.h"
#include "simt/team.h"

namespace cleave::simt {

using loop::Op;
using loop::replaced;
using loop::VariableValues;

namespace {

constexpr int flat_threads = 256, few_threads = 128;
constexpr int64_t flat_bytes = 64, max_flat_repeats = 4;  // that a thread reads at once
constexpr int64_t max_short_row = 64;
constexpr int64_t shared_bytes = 48 << 10;  // of a block with several teams
constexpr int64_t max_own_elements = 64;    // of a local buffer in a thread's registers
constexpr int64_t max_bounded_bytes = 192;  // of a thread whose registers are bounded

int64_t blocks_for(int64_t n, int64_t each) { return (n + each - 1) / each; }

}  // namespace

Expr PhaseWriter::fresh(const char* name, DType type) {
  const int64_t id = next_++;
  return loop::make_var(id, fmt::format("{}{}", name, id), type);
}

int64_t PhaseWriter::add_buffer(std::string name, DType type, int64_t elements, Space space) {
  Buffer b;
  b.name = std::move(name), b.dtype = type, b.elements = elements, b.access = loop::Access::local;
  b.space = space;
  to_.buffers.push_back(std::move(b));
  return static_cast<int64_t>(to_.buffers.size()) - 1;
}

// ---- phases
void PhaseWriter::begin(int team, int threads) {
  ranges_ = {}, affines_ = {}, pending_.clear(), locals_.clear(), scratch_.clear();
  one_stores_ = false, at_once_ = 1;
  first_buffer_ = to_.buffers.size();
  kept_.clear(), written_.clear(), read_again_.clear();
  team_ = team, teams_ = threads / team;
  block_ = fresh("block"), thread_ = fresh("thread");
  ranges_.set(thread_, Range{0, threads - 1});
}

void PhaseWriter::end(int64_t blocks, int threads, Block body) {
  ranges_.set(block_, Range{0, blocks - 1});
  drop_unread(body);
  read_ahead(body, to_.buffers);
  int64_t own = 0;  // bytes of a thread
  for (size_t b = first_buffer_; b < to_.buffers.size(); ++b)
    if (to_.buffers[b].space == Space::thread)
      own += to_.buffers[b].elements * size_of(to_.buffers[b].dtype);
  Phase phase{blocks, threads, block_, thread_, std::move(body)};
  if (own <= max_bounded_bytes) phase.at_once = at_once_;
  narrow_indices(phase, ranges_);
  to_.phases.push_back(std::move(phase));
}

void PhaseWriter::place_locals(const loop::Block& body) {
  const BufferAccesses accesses = accesses_of(body, fold_chunk);
  for (size_t i = 0; i < accesses.size(); ++i) {
    const BufferAccess& a = accesses[i];
    if (a.is_write) ++written_[a.buffer];
    const bool is_again =
        std::any_of(accesses.begin(), accesses.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const BufferAccess& b) {
                      return b.buffer == a.buffer && b.who == BufferAccess::Who::spread &&
                             b.who == a.who && b.index.defined() && a.index.defined() &&
                             b.index == a.index && b.share == a.share && b.chunk == a.chunk;
                    });
    if (is_again) read_again_.insert(a.buffer);
  }
  for (const BufferAccess& a : accesses) {
    const loop::Buffer& b = from_.buffers[static_cast<size_t>(a.buffer)];
    if (b.access != loop::Access::local || locals_.contains(a.buffer)) continue;
    Local local{0, Local::How::own, std::max<int64_t>(b.elements, 1)};
    if (team_ > 1) {
      const int64_t* n = a.share.defined() ? a.share.as_const_int() : nullptr;
      const bool is_owned = n && std::ranges::all_of(accesses, [&](const BufferAccess& other) {
                              return other.buffer != a.buffer ||
                                     (other.who == BufferAccess::Who::spread &&
                                      other.index.defined() && other.index == shared_variable() &&
                                      other.share == a.share && other.chunk == a.chunk);
                            });
      const int64_t own =
          is_owned ? blocks_for(*n, a.chunk * sharers({{{}, a.share}}, a.chunk)) * a.chunk : 0;
      local.how = is_owned && own <= max_own_elements ? Local::How::owned : Local::How::shared;
      if (local.how == Local::How::owned) local.elements = own;
    }
    const bool is_shared = local.how == Local::How::shared;
    local.buffer = add_buffer(b.name, b.dtype, local.elements * (is_shared ? teams_ : 1),
                              is_shared ? Space::shared : Space::thread);
    locals_[a.buffer] = local;
  }
  if (team_ > 1) promote(body, accesses);
}

// Buffers of the device that an iteration writes first and then reads, each element by one thread:
// sums of columns that rows are added to.
void PhaseWriter::promote(const loop::Block& body, const BufferAccesses& accesses) {
  std::unordered_set<int64_t> seen;  // accessed so far
  for (const loop::Stmt& s : body) {
    const std::unordered_set<int64_t> before = seen;
    for (const BufferAccess& a : accesses_of(s, fold_chunk)) seen.insert(a.buffer);
    auto* f = std::get_if<loop::For>(&s.node);
    if (!f || !is_spread(*f)) continue;
    for (const loop::Stmt& inside : f->body) {
      auto* store = std::get_if<loop::Store>(&inside.node);
      if (!store || locals_.contains(store->buffer) || before.contains(store->buffer)) continue;
      const auto of_it = [&](const BufferAccess& a) { return a.buffer == store->buffer; };
      const auto first = std::ranges::find_if(accesses, of_it);
      const int64_t* n = first->share.defined() ? first->share.as_const_int() : nullptr;
      if (!n || !first->is_write || !first->index.defined()) continue;
      const bool is_own = std::ranges::all_of(accesses, [&](const BufferAccess& a) {
        return !of_it(a) ||
               (a.who == BufferAccess::Who::spread && a.is_fixed && a.index.defined() &&
                a.index == first->index && a.share == first->share && a.chunk == first->chunk);
      });
      const bool is_read = std::ranges::any_of(
          accesses, [&](const BufferAccess& a) { return of_it(a) && !a.is_write; });
      const int64_t own =
          blocks_for(*n, first->chunk * sharers({{{}, first->share}}, first->chunk)) * first->chunk;
      if (!is_own || !is_read || own > max_own_elements || first->chunk != fold_chunk) continue;
      const loop::Buffer& b = from_.buffers[static_cast<size_t>(store->buffer)];
      Local local{0, Local::How::owned, own, first->index, first->share};
      local.buffer = add_buffer(b.name, b.dtype, own, Space::thread);
      locals_[store->buffer] = local;
    }
  }
}

void PhaseWriter::write_back(Block& out) {
  std::vector<std::pair<int64_t, Local>> promoted;
  for (const auto& [buffer, local] : locals_)
    if (local.back_index.defined()) promoted.emplace_back(buffer, local);
  std::ranges::sort(promoted, {}, &std::pair<int64_t, Local>::first);
  for (const auto& [buffer, local] : promoted) {
    // The thread's share under a number that no buffer has.
    const int64_t own = static_cast<int64_t>(to_.buffers.size()) + from_.buffers.size();
    locals_.erase(buffer);
    locals_[own] = local;
    const Expr j = fresh("j");
    const DType type = from_.buffers[static_cast<size_t>(buffer)].dtype;
    loop::Block body;
    body.emplace_back(
        Store{buffer, replaced(local.back_index, VariableValues{{shared_variable()->id(), j}}),
              load(own, type, j)});
    spread({.count = local.share, .chunk = fold_chunk, .loops = {{j, local.share}}, .body = &body},
           out);
    locals_.erase(own);
  }
}

void PhaseWriter::parallel(const loop::For& f) {
  const bool has_loops = std::ranges::any_of(f.body, [](const loop::Stmt& s) {
    return std::holds_alternative<loop::For>(s.node) ||
           std::holds_alternative<loop::Reduce>(s.node) || std::holds_alternative<loop::If>(s.node);
  });
  if (!has_loops) return flat_parts(f);
  if (const loop::For* row = flat_row(f)) return flat_rows(f, *row);
  const int team = team_threads(f.body, from_);
  if (const int64_t n = rows_at_once(f, team); n > 0) return rows(f, team, n);
  teams(f, team);
}

// The loop of an iteration that has no other one, whose elements threads take across iterations:
// one over a few, which aren't neighbours eight at a time, or over many where there are few
// iterations, so that a team for each would leave most of the machine idle. Null: there is none.
const loop::For* PhaseWriter::flat_row(const loop::For& f) const {
  auto* row = std::get_if<loop::For>(&f.body.back().node);
  if (!row || !has_independent_iterations(*row)) return nullptr;
  const int64_t *n = row->loop.extent.as_const_int(), rows = *f.loop.extent.as_const_int();
  if (!n || *n < 2) return nullptr;
  const bool is_short = *n <= max_short_row && *n % fold_chunk != 0;
  const bool is_long = *n % fold_chunk == 0 && rows * *n >= sizes_.medium &&
                       blocks_for(rows * fold_threads(*n), few_threads) < sizes_.many_blocks;
  if (!is_short && !is_long) return nullptr;
  const auto is_let = [](const loop::Stmt& s) { return std::holds_alternative<loop::Let>(s.node); };
  if (!std::all_of(f.body.begin(), f.body.end() - 1, is_let) ||
      !std::ranges::all_of(row->body, [&](const loop::Stmt& s) {
        return is_let(s) || std::holds_alternative<loop::Store>(s.node);
      }))
    return nullptr;
  const bool has_locals = std::ranges::any_of(accesses_of(f.body, fold_chunk), [&](const auto& a) {
    return from_.buffers[static_cast<size_t>(a.buffer)].access == loop::Access::local;
  });
  return has_locals ? nullptr : row;
}

void PhaseWriter::flat_rows(const loop::For& f, const loop::For& row) {
  const int64_t length = *row.loop.extent.as_const_int();
  const int64_t n = *f.loop.extent.as_const_int() * length;
  loop::Block element(f.body.begin(), f.body.end() - 1);
  element.insert(element.end(), row.body.begin(), row.body.end());
  const bool is_part = fold_chunk % length == 0 && n >= sizes_.medium;  // of what may be neighbours
  const int64_t chunk = length % fold_chunk == 0 ? flat_chunk(row.body, n) : is_part ? length : 1;
  begin(1, few_threads);
  const int64_t chunks = n / chunk, blocks = blocks_for(chunks, few_threads);
  ranges_.set(block_, Range{0, blocks - 1});
  Block body, inside;
  const Expr number = fresh("chunk");
  let(number, block_ * Expr(few_threads) + thread_, body);
  ranges_.set(number, Range{0, chunks - 1});
  const Elements elements{
      .count = Expr(n), .chunk = chunk, .loops = {f.loop, row.loop}, .body = &element};
  this->chunk(elements, number, Expr(0), inside);
  if (chunks % few_threads == 0)
    body.insert(body.end(), inside.begin(), inside.end());
  else
    body.push_back({If{binary(Op::lt, number, Expr(chunks)), std::move(inside), {}}});
  end(blocks, few_threads, std::move(body));
}

// Neighbours of a thread in a flat loop of n elements. Of 8 that it writes of 4 bytes and more
// each, a sector of memory would be written in two parts.
int64_t PhaseWriter::flat_chunk(const loop::Block& body, int64_t n) const {
  bool has_halves = false, writes_words = false;
  for (const BufferAccess& a : accesses_of(body, fold_chunk)) {
    const loop::Buffer& b = from_.buffers[static_cast<size_t>(a.buffer)];
    if (b.elements <= 1) continue;
    has_halves |= size_of(b.dtype) <= 2;
    writes_words |= a.is_write && size_of(b.dtype) > 2;
  }
  const bool takes_eight = n >= sizes_.large && has_halves && !writes_words;
  return n < sizes_.medium ? 1 : takes_eight ? 8 : 4;
}

// Chunks of a thread, whose reads come first: so many that they are of flat_bytes, where there are
// blocks enough.
int64_t PhaseWriter::flat_repeats(const loop::For& f, int64_t block_elements) const {
  const int64_t n = *f.loop.extent.as_const_int();
  int64_t bytes = 0;  // that a block of threads reads for a chunk
  std::unordered_set<int64_t> seen;
  for (const BufferAccess& a : accesses_of(f.body, fold_chunk)) {
    const loop::Buffer& b = from_.buffers[static_cast<size_t>(a.buffer)];
    if (!a.is_write && b.elements >= n && seen.insert(a.buffer).second)
      bytes += block_elements * size_of(b.dtype);
  }
  int64_t repeats = max_flat_repeats;
  while (repeats > 1 && (repeats * bytes > flat_bytes * flat_threads ||
                         blocks_for(n, block_elements * repeats) < 4 * sizes_.many_blocks))
    repeats /= 2;
  return repeats;
}

void PhaseWriter::flat_parts(const loop::For& f) {
  if (!shared_) return flat(f);
  const std::vector<loop::For> parts = split_parts(f, from_.buffers, *shared_);
  const size_t first = to_.phases.size();
  for (const loop::For& part : parts) flat(part);
  if (parts.size() == 1) return;
  ++parts_;
  for (size_t p = first; p < to_.phases.size(); ++p) to_.phases[p].part_of = parts_;
}

void PhaseWriter::flat(const loop::For& f) {
  const int64_t n = *f.loop.extent.as_const_int();
  const int64_t chunk = flat_chunk(f.body, n);
  const int threads = chunk > 1 ? flat_threads : few_threads;
  const int64_t repeats = chunk > 1 ? flat_repeats(f, threads * chunk) : 1;
  begin(1, threads);
  place_locals(f.body);
  Block body;
  const int64_t chunks = blocks_for(n, chunk), blocks = blocks_for(chunks, threads * repeats);
  ranges_.set(block_, Range{0, blocks - 1});
  const Expr number = fresh("chunk");
  let(number, block_ * Expr(threads * repeats) + thread_, body);
  ranges_.set(number, Range{0, chunks - 1});  // where it is used
  Elements elements{.count = f.loop.extent,
                    .chunk = chunk,
                    .repeats = repeats,
                    .stride = repeats > 1 ? threads * chunk : 0,
                    .loops = {f.loop},
                    .body = &f.body};
  const int64_t* row = f.rows.length.defined() ? f.rows.length.as_const_int() : nullptr;
  if (row && *row % chunk == 0) elements.shared = f.rows.shared;
  Block inside;
  this->chunk(elements, number, Expr(0), inside);
  if (chunks % threads == 0 && blocks * repeats * threads == chunks)
    body.insert(body.end(), inside.begin(), inside.end());
  else
    body.push_back({If{binary(Op::lt, number, Expr(chunks)), std::move(inside), {}}});
  end(blocks, threads, std::move(body));
}

void PhaseWriter::teams(const loop::For& f, int team) {
  const int64_t n = *f.loop.extent.as_const_int();
  // A block has one team, where that is more than a warp: its barriers are the block's.
  int threads = team > warp_lanes ? team : few_threads;
  while (threads > std::max(team, warp_lanes) && blocks_for(n * team, threads) < sizes_.many_blocks)
    threads /= 2;
  // Rows in shared memory are those of all teams of a block.
  int64_t row_bytes = 0;
  for (const loop::Buffer& b : from_.buffers)
    if (b.access == loop::Access::local) row_bytes += b.elements * size_of(b.dtype);
  while (threads > team && row_bytes * (threads / team) > shared_bytes) threads /= 2;
  begin(team, threads);
  place_locals(f.body);
  const int64_t blocks = blocks_for(n, teams_);
  ranges_.set(block_, Range{0, blocks - 1});
  Block body, inside;
  member_ = Expr(0), team_number_ = Expr(0);
  if (teams_ > 1) {
    team_number_ = fresh("team");
    let(team_number_, binary(Op::truncdiv, thread_, Expr(team)), body);
  }
  if (team > 1) {
    member_ = fresh("member");
    let(member_, teams_ > 1 ? binary(Op::truncmod, thread_, Expr(team)) : thread_, body);
  }
  let(f.loop.var, block_ * Expr(teams_) + team_number_, body);
  ranges_.set(f.loop.var, Range{0, n - 1});
  team_block(f.body, inside);
  write_back(inside);
  if (n % teams_ == 0)
    body.insert(body.end(), inside.begin(), inside.end());
  else
    body.push_back({If{binary(Op::lt, f.loop.var, f.loop.extent), std::move(inside), {}}});
  end(blocks, threads, std::move(body));
}

void PhaseWriter::serial(const loop::Block& statements) {
  const int team = team_threads(statements, from_);
  begin(team, team);
  place_locals(statements);
  member_ = team > 1 ? thread_ : Expr(0), team_number_ = Expr(0);
  Block body;
  team_block(statements, body);
  write_back(body);
  end(1, team, std::move(body));
}

// ---- what both kinds of statements are made of
Expr PhaseWriter::local_index(const Local& local, const Expr& index) const {
  switch (local.how) {
    case Local::How::own: return index;
    case Local::How::owned: return own_index_;
    case Local::How::shared: return team_number_ * Expr(local.elements) + index;
  }
  return index;
}

Expr PhaseWriter::expr(const Expr& e) const {
  if (wide_.empty() && turned_.empty() && locals_.empty() && arrays_.empty()) return e;
  return replaced(e, [&](const Expr& part) {
    if (part->op == Op::var) {
      const auto array = arrays_.find(part->id());
      if (array == arrays_.end()) return Expr();
      return load(array->second, to_.buffers[static_cast<size_t>(array->second)].dtype,
                  array_index_);
    }
    if (part->op != Op::load) return Expr();
    for (const Wide& w : wide_)
      if (w.buffer == part->buffer() && w.index == part->args[0])
        return load(w.local, to_.buffers[static_cast<size_t>(w.local)].dtype,
                    w.is_of_all ? array_index_ : wide_index_);
    for (const Turned& t : turned_)
      if (t.buffer == part->buffer() && t.index == part->args[0])
        return load(t.shared, to_.buffers[static_cast<size_t>(t.shared)].dtype, turned_index_);
    const auto local = locals_.find(part->buffer());
    if (local == locals_.end()) return Expr();
    const Local& at = local->second;
    return load(at.buffer, to_.buffers[static_cast<size_t>(at.buffer)].dtype,
                local_index(at, part->args[0]));
  });
}

void PhaseWriter::let(const Expr& var, const Expr& value, Block& out) {
  ranges_.set(var, ranges_.of(value));
  affines_.set(var, affines_.of(value));
  out.push_back({Let{var, value}});
}

void PhaseWriter::var(const Expr& var, const Expr& value, Block& out) {
  affines_.set(var, std::nullopt);
  out.push_back({Define{var, value}});
}

void PhaseWriter::barrier(Block& out) {
  out.push_back({Barrier{team_}});
  pending_.clear();
}

void PhaseWriter::serial_loop(const loop::Loop& l, Block& out,
                              const std::function<void(Block&)>& body) {
  const Expr count = extent(l.extent);
  const auto range = ranges_.of(count);
  ranges_.set(
      l.var, range ? std::optional(Range{0, std::max<int64_t>(range->high - 1, 0)}) : std::nullopt);
  For f{.var = l.var, .begin = Expr(0), .end = count};
  body(f.body);
  out.push_back({std::move(f)});
}

// ---- statements of one thread
void PhaseWriter::thread_block(const loop::Block& b, Block& out) {
  for (const loop::Stmt& s : b) thread_stmt(s, out);
}

void PhaseWriter::thread_stmt(const loop::Stmt& s, Block& out) {
  if (auto* l = std::get_if<loop::Let>(&s.node)) {
    const auto array = arrays_.find(l->var->id());
    if (array == arrays_.end()) return let(l->var, expr(l->value), out);
    return out.push_back({Store{array->second, array_index_, expr(l->value)}});
  }
  if (auto* d = std::get_if<loop::Define>(&s.node)) return var(d->var, expr(d->value), out);
  if (auto* a = std::get_if<loop::Assign>(&s.node))
    return out.push_back({Assign{a->var, expr(a->value)}});
  if (auto* r = std::get_if<loop::Reduce>(&s.node)) return ordered_fold(*r, out);
  if (auto* c = std::get_if<loop::Check>(&s.node)) {
    Check check = *c;
    check.condition = expr(c->condition), check.value = expr(c->value),
    check.bound = expr(c->bound);
    return out.push_back({std::move(check)});
  }
  if (auto* f = std::get_if<loop::For>(&s.node))
    return serial_loop(f->loop, out, [&](Block& body) { thread_block(f->body, body); });
  if (auto* i = std::get_if<loop::If>(&s.node)) {
    If made{expr(i->condition), {}, {}};
    thread_block(i->then, made.then);
    return out.push_back({std::move(made)});
  }
  const auto& store = std::get<loop::Store>(s.node);
  for (const Wide& w : wide_)
    if (w.is_written && w.buffer == store.buffer && w.index == store.index)
      return out.push_back({Store{w.local, wide_index_, expr(store.value)}});
  Store made{store.buffer, expr(store.index), expr(store.value)};
  if (const auto local = locals_.find(store.buffer); local != locals_.end()) {
    made.buffer = local->second.buffer;
    made.index = local_index(local->second, made.index);
  }
  if (!one_stores_) return out.push_back({std::move(made)});
  If first{binary(Op::eq, member_, Expr(0)), {}, {}};
  first.then.push_back({std::move(made)});
  out.push_back({std::move(first)});
}

}  // namespace cleave::simt
