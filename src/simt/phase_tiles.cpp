// Tiles: what is read across the order in which elements are written goes through shared memory, so
// that neighbouring threads access neighbours on both sides.
//
//   for i in 64 independent {               thread + 256 k is j*64 + i:
//     for j in 64 independent {               shared[i*65 + j] = %x[j*8192 + i]
//       %y[i*4096 + j] = %x[j*8192 + i]     barrier
//     }                                     thread + 256 k is i*64 + j:
//   }                                         %y[i*4096 + j] = shared[i*65 + j]
//
// A row of the shared memory has one element more than the tile, so that threads of a warp are in
// different banks both ways.
#include <algorithm>

#include "loop/replace.h"
#include "loop/shared_parts.h"
#include "simt/phase_writer.h"
#include "simt/team.h"

namespace cleave::simt {

using loop::for_each_part;
using loop::Op;
using loop::replaced;
using loop::VariableValues;

namespace {

constexpr int64_t near_elements = 8;      // which a warp reads together well enough
constexpr int64_t tile_bytes = 40 << 10;  // of shared memory
constexpr int tile_unrolled = 8;          // elements of a thread under way

// The loads that each element makes: not those in a branch of a select, whose index may be
// anything.
void collect(const loop::Block& body, std::vector<std::pair<int64_t, Expr>>& loads,
             VariableValues& lets) {
  const auto reads = [&](const Exprs& roots) {
    const loop::SharedParts parts(roots);
    for (const Expr& root : roots)
      for_each_part(root, [&](const Expr& e) {
        if (e->op == Op::load && parts.is_always_reached(e))
          loads.emplace_back(e->buffer(), e->args[0]);
      });
  };
  for (const loop::Stmt& s : body) {
    if (auto* l = std::get_if<loop::Let>(&s.node)) {
      reads({l->value});
      if (!l->value->reads_memory) lets[l->var->id()] = replaced(l->value, lets);
    } else {
      const auto& store = std::get<loop::Store>(s.node);
      reads({store.index, store.value});
    }
  }
}

// How far apart elements are for neighbouring values of the variable; nullopt: not fixed.
std::optional<int64_t> step_of(const Expr& index, const Expr& var) {
  if (index->op == Op::var) return index->id() == var->id() ? 1 : 0;
  if (index->op == Op::constant) return 0;
  if (index->op == Op::add || index->op == Op::sub) {
    const auto a = step_of(index->args[0], var), b = step_of(index->args[1], var);
    if (!a || !b) return std::nullopt;
    return index->op == Op::add ? *a + *b : *a - *b;
  }
  if (index->op == Op::mul) {
    for (size_t k : {0, 1})
      if (const int64_t* factor = index->args[k].as_const_int()) {
        const auto step = step_of(index->args[1 - k], var);
        return step ? std::optional(*step * *factor) : std::nullopt;
      }
  }
  bool holds = false;
  for_each_part(index, [&](const Expr& part) {
    holds |= part->op == Op::load || (part->op == Op::var && part->id() == var->id());
  });
  return holds ? std::nullopt : std::optional<int64_t>(0);
}

}  // namespace

// The loads that follow the outer loop's order.
void PhaseWriter::find_turned(const loop::For& f, const loop::For& g, int64_t width) {
  std::vector<std::pair<int64_t, Expr>> loads;
  VariableValues lets;
  collect(g.body, loads, lets);
  const int64_t rows = most_elements({f.loop});
  int64_t bytes = 0;
  for (const auto& [buffer, index] : loads) {
    const bool is_known = std::ranges::any_of(
        turned_, [&](const Turned& t) { return t.buffer == buffer && t.index == index; });
    if (is_known || index->reads_memory) continue;
    const Expr read = replaced(index, lets);
    const auto along = step_of(read, f.loop.var), across = step_of(read, g.loop.var);
    if (!along || !across || *along != 1 || std::abs(*across) < near_elements) continue;
    const loop::Buffer& b = from_.buffers[static_cast<size_t>(buffer)];
    bytes += rows * width * size_of(b.dtype);
    if (bytes > tile_bytes) break;
    turned_.push_back(
        {add_buffer(b.name + "_tile", b.dtype, rows * width, Space::shared), buffer, index, read});
  }
}

void PhaseWriter::tile(const loop::For& f, Block& out) {
  const auto& g = std::get<loop::For>(f.body[0].node);
  const Expr rows = extent(f.loop.extent), columns = extent(g.loop.extent);
  const int64_t most_rows = most_elements({f.loop}), most_columns = most_elements({g.loop});
  const int64_t width = most_columns + 1;
  find_turned(f, g, width);
  const std::vector<Turned> turned = std::exchange(turned_, {});
  const Expr &i = f.loop.var, &j = g.loop.var;
  ranges_.set(i, Range{0, most_rows - 1}), ranges_.set(j, Range{0, most_columns - 1});
  // Each thread's elements, the inner variable's first.
  const auto each = [&](const Expr& inner, int64_t n, const Expr& outer, int64_t m,
                        const std::function<void(Block&)>& body) {
    const int64_t all = n * m;
    For loop{.var = fresh("e"),
             .begin = member_,
             .end = Expr(all),
             .step = team_,
             .body = {},
             .unrolled = tile_unrolled};
    ranges_.set(loop.var, Range{0, all - 1});
    loop.body.push_back({Let{inner, binary(Op::truncmod, loop.var, Expr(n))}});
    loop.body.push_back({Let{outer, binary(Op::truncdiv, loop.var, Expr(n))}});
    const bool is_full = rows.as_const_int() && columns.as_const_int();
    if (is_full) {
      body(loop.body);
    } else {
      If there{
          binary(Op::logical_and, binary(Op::lt, i, rows), binary(Op::lt, j, columns)), {}, {}};
      body(there.then);
      loop.body.push_back({std::move(there)});
    }
    out.push_back({std::move(loop)});
  };
  turned_index_ = i * Expr(width) + j;
  if (!turned.empty()) {
    each(i, most_rows, j, most_columns, [&](Block& body) {
      for (const Turned& t : turned) {
        const DType type = from_.buffers[static_cast<size_t>(t.buffer)].dtype;
        body.push_back({Store{t.shared, turned_index_, load(t.buffer, type, expr(t.read))}});
      }
    });
    barrier(out);
  }
  turned_ = turned;
  each(j, most_columns, i, most_rows, [&](Block& body) { thread_block(g.body, body); });
  turned_.clear();
}

}  // namespace cleave::simt
