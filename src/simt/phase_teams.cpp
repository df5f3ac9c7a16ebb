// What a team does with the statements of an iteration: shares them out, or runs them in each
// thread, and waits where one thread reads what another writes (hazards.h).
#include <algorithm>
#include <unordered_set>

#include "loop/replace.h"
#include "simt/fold_values.h"
#include "simt/phase_writer.h"
#include "simt/team.h"

namespace cleave::simt {

using loop::Op;

namespace {

constexpr int64_t max_unrolled = 4, max_repeats = 4;  // chunks of a thread
// Of a loop that reads some of its chunks at a time: their bytes, and how many threads a processor
// has room for, so that each has 64 registers.
constexpr int64_t max_group_bytes = 128;
constexpr int threads_at_once = 1024;
// Of what loops read again, in registers.
constexpr int64_t max_kept_slots = 16, max_kept_bytes = 256, max_keeping_threads = 512;

}  // namespace

void PhaseWriter::team_block(const loop::Block& b, Block& out) {
  for (const loop::Stmt& s : b) {
    if (team_ > 1) {
      BufferAccesses accesses = accesses_of(s, fold_chunk);
      if (conflict(pending_, accesses)) barrier(out);
      team_stmt(s, out);
      auto* f = std::get_if<loop::For>(&s.node);
      // Their elements have other owners.
      if (f && (column_threads(*f, from_) == team_ || is_tile(*f, from_))) {
        barrier(out);
        continue;
      }
      pending_.insert(pending_.end(), std::make_move_iterator(accesses.begin()),
                      std::make_move_iterator(accesses.end()));
    } else {
      team_stmt(s, out);
    }
  }
}

void PhaseWriter::team_stmt(const loop::Stmt& s, Block& out) {
  if (auto* r = std::get_if<loop::Reduce>(&s.node)) {
    if (is_spread(*r)) return spread_fold(*r, out);
    one_stores_ = team_ > 1;
    ordered_fold(*r, out);
    one_stores_ = false;
    return;
  }
  if (auto* f = std::get_if<loop::For>(&s.node)) {
    if (is_spread(*f)) return spread_loop(*f, out);
    const bool waits = team_ > 1 && conflict_in_loop(*f, fold_chunk);
    const std::vector<Kept> before = kept_;
    serial_loop(f->loop, out, [&](Block& body) {
      if (waits) barrier(body);
      team_block(f->body, body);
    });
    kept_ = before;
    return;
  }
  if (auto* i = std::get_if<loop::If>(&s.node)) {
    If made{expr(i->condition), {}, {}};
    const std::vector<Kept> before = kept_;
    team_block(i->then, made.then);
    kept_ = before;
    return out.push_back({std::move(made)});
  }
  one_stores_ = team_ > 1;
  thread_stmt(s, out);
  one_stores_ = false;
}

void PhaseWriter::spread_loop(const loop::For& f, Block& out) {
  if (const int threads = column_threads(f, from_); threads == team_) return columns(f, out);
  if (is_tile(f, from_)) return tile(f, out);
  Elements elements{.count = extent(f.loop.extent),
                    .chunk = f.kind == loop::ForKind::lanes ? 1 : fold_chunk,
                    .loops = {{f.loop.var, extent(f.loop.extent)}},
                    .body = &f.body};
  spread(elements, out);
}

// Of the team, those that a loop or fold is shared out among, by its length alone. Lanes of
// columns: all.
int PhaseWriter::sharers(const std::vector<loop::Loop>& loops, int64_t chunk) const {
  return chunk == 1 ? team_ : std::min(team_, fold_threads(most_elements(loops)));
}

// Chunk c belongs to thread c mod sharers().
void PhaseWriter::spread(const Elements& elements, Block& out) {
  const int threads = sharers(elements.loops, elements.chunk);
  if (threads == team_) return spread_among(elements, threads, out);
  If inside{binary(Op::lt, member_, Expr(threads)), {}, {}};
  spread_among(elements, threads, inside.then);
  out.push_back({std::move(inside)});
}

void PhaseWriter::spread_among(const Elements& elements, int threads, Block& out) {
  const int64_t size = elements.chunk;
  const int64_t* count = elements.count.as_const_int();
  const Expr chunks = count ? Expr((*count + size - 1) / size)
                      : size == 1
                          ? elements.count
                          : binary(Op::truncdiv, elements.count + Expr(size - 1), Expr(size));
  const Expr number = fresh("chunk");
  if (const int64_t* n = chunks.as_const_int()) {
    const int64_t slots = (*n + threads - 1) / threads;
    // With few chunks, all reads of a thread come first.
    if (slots > 1 && slots <= max_repeats && *count % (slots * threads * size) == 0 &&
        elements.loops.size() == 1) {
      Elements together = elements;
      together.repeats = slots, together.stride = threads * size;
      return chunk(together, member_, Expr(0), out);
    }
    const bool is_owned = std::ranges::any_of(
        locals_, [](const auto& l) { return l.second.how == Local::How::owned; });
    const auto write = [&](const Expr& slot, Block& to) {
      let(number, member_ + slot * Expr(threads), to);
      ranges_.set(number, Range{0, *n - 1});
      if (*n % threads == 0) return chunk(elements, number, slot, to);
      If inside{binary(Op::lt, number, chunks), {}, {}};
      chunk(elements, number, slot, inside.then);
      to.push_back({std::move(inside)});
    };
    if (slots == 1) return write(Expr(0), out);
    if (!stage_row(elements, threads, slots, out) && keeps_slots(elements, slots))
      return spread_slots(elements, threads, slots, out);
    slot_ = any_slot;
    const int64_t begin = is_owned || elements.folds ? 0 : spread_groups(elements, threads, out);
    if (begin < slots) {
      For f{.var = fresh("slot"),
            .begin = Expr(begin),
            .end = Expr(slots),
            .body = {},
            .unrolled = is_owned || slots <= max_unrolled ? 0 : 1};
      ranges_.set(f.var, Range{begin, slots - 1});
      write(f.var, f.body);
      out.push_back({std::move(f)});
    }
    slot_ = 0;
    return;
  }
  const auto range = ranges_.of(chunks);
  For f{.var = number, .begin = member_, .end = chunks, .step = threads};
  ranges_.set(number, range ? std::optional(Range{0, std::max<int64_t>(range->high - 1, 0)})
                            : std::nullopt);
  chunk(elements, number, Expr(0), f.body);
  out.push_back({std::move(f)});
}

// Of a loop that writes, whose writes may be to memory that it reads: some slots at a time, all of
// whose reads come first. Returns how many slots are done.
int64_t PhaseWriter::spread_groups(const Elements& elements, int threads, Block& out) {
  const int64_t size = elements.chunk, slot = threads * size;
  int64_t bytes = 0, repeats = max_repeats;  // of a thread's registers, for a slot
  std::unordered_set<int64_t> seen;
  for (const BufferAccess& a : accesses_of(*elements.body, fold_chunk))
    if (seen.insert(a.buffer).second)
      bytes += size * size_of(from_.buffers[static_cast<size_t>(a.buffer)].dtype);
  while (repeats * bytes > max_group_bytes) repeats /= 2;
  if (repeats < 2 || size == 1 || elements.loops.size() != 1) return 0;
  const int64_t groups = *elements.count.as_const_int() / (slot * repeats);
  if (groups == 0) return 0;
  at_once_ = std::max(at_once_, threads_at_once / team_);
  Elements together = elements;
  together.repeats = repeats, together.stride = slot, together.is_whole = true;
  For f{.var = fresh("slots"), .begin = Expr(0), .end = Expr(groups)};
  ranges_.set(f.var, Range{0, groups - 1});
  const Expr number = fresh("chunk");
  let(number, member_ + f.var * Expr(threads * repeats), f.body);
  ranges_.set(number, Range{0, groups * threads * repeats - 1});
  chunk(together, number, Expr(0), f.body);
  out.push_back({std::move(f)});
  return groups * repeats;
}

// Whether a thread keeps what it reads of the chunks in registers, for another loop over them.
bool PhaseWriter::keeps_slots(const Elements& elements, int64_t slots) const {
  const int64_t* count = elements.count.as_const_int();
  if (team_ == 1 || team_ > max_keeping_threads || in_columns_ || slots > max_kept_slots ||
      elements.chunk != fold_chunk || elements.loops.size() != 1 || !count ||
      *count % fold_chunk != 0)
    return false;
  int64_t bytes = 0;
  bool is_read_again = false;
  std::unordered_set<int64_t> seen;
  const auto add = [&](int64_t buffer) {
    if (written_.contains(buffer) || !seen.insert(buffer).second) return;
    bytes += size_of(from_.buffers[static_cast<size_t>(buffer)].dtype) * slots * fold_chunk;
    is_read_again |= read_again_.contains(buffer);
  };
  for (const BufferAccess& a : accesses_of(*elements.body, fold_chunk)) add(a.buffer);
  if (elements.folds)
    for (const loop::Fold& f : *elements.folds)
      loop::for_each_part(f.value, [&](const Expr& part) {
        if (part->op == Op::load) add(part->buffer());
      });
  return is_read_again && bytes <= max_kept_bytes;
}

// Slot by slot, all reads first.
void PhaseWriter::spread_slots(const Elements& elements, int threads, int64_t slots, Block& out) {
  const int64_t chunks = *elements.count.as_const_int() / elements.chunk;
  const auto each = [&](const std::function<void(const Expr& number, Block&)>& write) {
    for (slot_ = 0; slot_ < slots; ++slot_) {
      const Expr number = fresh("chunk");
      let(number, member_ + Expr(slot_ * threads), out);
      ranges_.set(number, Range{0, chunks - 1});
      if ((slot_ + 1) * threads <= chunks) {
        write(number, out);
        continue;
      }
      If inside{binary(Op::lt, number, Expr(chunks)), {}, {}};
      write(number, inside.then);
      out.push_back({std::move(inside)});
    }
    slot_ = 0;
  };
  keeps_ = true;
  each([&](const Expr& number, Block& to) {
    const Expr first = fresh("first");
    let(first, number * Expr(elements.chunk), to);
    affines_.set(first, Affine{0, elements.chunk});
    for (const Wide& w : find_wide(elements, first))
      if (w.is_read && w.is_kept)
        to.push_back({CopyIn{w.local, w.buffer, w.first_indices[0], 0, elements.chunk}});
  });
  each([&](const Expr& number, Block& to) {
    Elements own = elements;
    for (size_t i = 0; i < own.sums.size(); ++i)
      if (own.totals[i].defined()) own.sums[i] = fresh("sum", own.sums[i].type());
    chunk(own, number, Expr(slot_), to);
  });
  keeps_ = false;
}

void PhaseWriter::chunk(const Elements& elements, const Expr& number, const Expr& slot,
                        Block& out) {
  const int64_t size = elements.chunk;
  own_index_ = slot * Expr(size);
  Expr first = number;
  if (size > 1) {
    first = fresh("first");
    let(first, number * Expr(size), out);
  }
  chunk_at(elements, first, out);
}

void PhaseWriter::chunk_at(const Elements& elements, const Expr& first, Block& out) {
  const int64_t size = elements.chunk;
  const int64_t* count = elements.count.as_const_int();
  const int64_t all = elements.stride > 0 ? elements.repeats * elements.stride : size;
  if (size == 1 && elements.may_be_beyond) {
    If inside{binary(Op::lt, first, elements.count), {}, {}};
    chunk_elements(elements, first, true, inside.then);
    return out.push_back({std::move(inside)});
  }
  if (size == 1 || elements.is_whole || (count && *count % all == 0 && !elements.may_be_beyond))
    return chunk_elements(elements, first, true, out);
  const Expr end = first + Expr((elements.repeats - 1) * elements.stride + size);
  If whole{binary(Op::le, end, elements.count), {}, {}};
  chunk_elements(elements, first, true, whole.then);
  chunk_elements(elements, first, false, whole.otherwise);
  out.push_back({std::move(whole)});
}

// The elements from `first` on: all of a thread's chunks, or those elements that there are.
void PhaseWriter::chunk_elements(const Elements& elements, const Expr& first, bool is_full,
                                 Block& out) {
  const int64_t size = elements.chunk, repeats = elements.repeats;
  const std::vector<loop::Loop>& loops = elements.loops;
  const loop::Loop& last = loops.back();
  const int64_t* row = last.extent.as_const_int();
  const auto limits = [&](const loop::Loop& l) {
    const auto range = ranges_.of(l.extent);
    ranges_.set(l.var, range ? std::optional(Range{0, std::max<int64_t>(range->high - 1, 0)})
                             : std::nullopt);
  };
  // The loops' variables at an element.
  const auto bind_outer = [&](Expr rest, Block& to) {
    for (size_t d = loops.size() - 1; d-- > 0;) {
      const bool is_outermost = d == 0;
      let(loops[d].var, is_outermost ? rest : binary(Op::truncmod, rest, loops[d].extent), to);
      limits(loops[d]);
      if (!is_outermost) rest = binary(Op::truncdiv, rest, loops[d].extent);
    }
  };
  const bool stays_in_row = loops.size() == 1 || (row && *row % size == 0);
  Expr from = first;
  if (loops.size() > 1 && stays_in_row) {
    from = fresh("from");
    let(from, binary(Op::truncmod, first, last.extent), out);
    affines_.set(from, Affine{0, size});
    bind_outer(binary(Op::truncdiv, first, last.extent), out);
  } else {
    affines_.set(first, Affine{0, size});
  }
  // What the elements of a chunk share, if it has several, all of which are there.
  const size_t shared = is_full && size > 1 ? elements.shared : 0;
  const auto share = [&](const Expr& at, Block& to) {
    if (shared == 0) return;
    let(last.var, at, to);
    for (size_t k = 0; k < shared; ++k) thread_stmt((*elements.body)[k], to);
  };
  // The reads of all repeats, then their elements, then the writes.
  const Expr repeat = repeats == 1 ? Expr(0) : fresh("repeat");
  if (repeats > 1) ranges_.set(repeat, Range{0, repeats - 1});
  const bool is_wide = is_full && size > 1 && stays_in_row;
  const Expr k = size == 1 ? Expr(0) : fresh("k");
  if (size > 1) ranges_.set(k, Range{0, size - 1});
  if (is_wide) {
    wide_ = find_wide(elements, from);
    wide_index_ = repeat * Expr(size) + k;
  }
  for (size_t r = 0; r < static_cast<size_t>(repeats); ++r)
    for (const Wide& w : wide_)
      if (w.is_read && (r == 0 || !w.is_of_all))
        out.push_back({CopyIn{w.local, w.row >= 0 ? w.row : w.buffer, w.first_indices[r],
                              static_cast<int64_t>(r) * size, size}});

  const Expr own = own_index_;
  if (own.defined()) own_index_ = own + repeat * Expr(size) + k;
  array_index_ = k;
  Block chunk, body;
  if (elements.row.defined()) let(elements.row, elements.first_row + repeat, chunk);
  const Expr beyond = elements.stride > 0 ? repeat * Expr(elements.stride) : Expr(0);
  share(from + beyond, chunk);
  const size_t folds = elements.folds ? elements.folds->size() : 0;
  for (size_t i = 0; i < folds; ++i)
    if (elements.sum_buffers.empty() && elements.totals[i].defined())
      var(elements.sums[i], identity_of((*elements.folds)[i].op, elements.sums[i].type()), chunk);
  const Expr at_k = beyond + k;
  if (stays_in_row) {
    let(last.var, from + at_k, body);
  } else {
    const Expr number = fresh("element");
    let(number, first + at_k, body);
    let(last.var, binary(Op::truncmod, number, last.extent), body);
    bind_outer(binary(Op::truncdiv, number, last.extent), body);
  }
  limits(last);
  const loop::Block rest(elements.body->begin() + static_cast<std::ptrdiff_t>(shared),
                         elements.body->end());
  thread_block(rest, body);
  Exprs values;
  for (size_t i = 0; i < folds; ++i) values.push_back(expr((*elements.folds)[i].value));
  for (size_t i = 0; i < folds; ++i)
    if (elements.sum_buffers.empty()) {
      body.push_back({Assign{elements.sums[i],
                             combined((*elements.folds)[i].op, elements.sums[i], values[i])}});
    } else {
      const int64_t sums = elements.sum_buffers[i];
      const Expr before = load(sums, to_.buffers[static_cast<size_t>(sums)].dtype, k);
      body.push_back({Store{sums, k, combined((*elements.folds)[i].op, before, values[i])}});
    }
  if (!is_full && size > 1) {
    If inside{binary(Op::lt, first + at_k, elements.count), std::move(body), {}};
    body.clear();
    body.push_back({std::move(inside)});
  }
  // Without arrays in registers loops stay loops.
  const bool is_rolled =
      !is_full && arrays_.empty() && elements.sum_buffers.empty() && locals_.empty();
  const auto repeated = [&](const Expr& var, int64_t times, Block inside, Block& to) {
    if (times == 1)
      return void(to.insert(to.end(), std::make_move_iterator(inside.begin()),
                            std::make_move_iterator(inside.end())));
    to.push_back({For{.var = var,
                      .begin = Expr(0),
                      .end = Expr(times),
                      .body = std::move(inside),
                      .unrolled = is_rolled ? 1 : 0}});
  };
  repeated(k, size, std::move(body), chunk);
  for (size_t i = 0; i < folds; ++i)
    if (elements.sum_buffers.empty() && elements.totals[i].defined())
      chunk.push_back({Assign{elements.totals[i],
                              combined((*elements.folds)[i].op, elements.totals[i],
                                       cast(elements.sums[i], elements.totals[i].type()))}});
  repeated(repeat, repeats, std::move(chunk), out);
  for (size_t r = 0; r < static_cast<size_t>(repeats); ++r)
    for (const Wide& w : wide_)
      if (w.is_written)
        out.push_back(
            {CopyOut{w.buffer, w.local, w.first_indices[r], static_cast<int64_t>(r) * size, size}});
  wide_.clear();
  own_index_ = own;
}

}  // namespace cleave::simt
