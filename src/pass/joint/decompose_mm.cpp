// Turns memory-bound products into elementwise products and sums, which fuse.
//
//   [1,k] @ [k,n]    ->  sum(view(a, [k,1]) * b, 0)            row
//   [1,k] @ w^T      ->  sum(w * a, 1)                         row_transposed     w is [n,k]
//   [m,k] @ [k,1]    ->  sum(a * view(b, [1,k]), 1)            column
//   u^T @ [k,1]      ->  sum(u * b, 0)                         column_transposed  u is [k,m]
//   [m,1] @ [1,n]    ->  a * b                                 outer
//   [m,k] @ [k,n]    ->  sum(a[:,:,None] * b[None,:,:], 1)     thin
//
// The same for bmm, with a leading batch dim (not thin), and for addmm and baddbmm without factors,
// whose term is added at the end. The order of additions changes. Products of halves are unchanged:
// they read a weight that was cast from f32 without a copy; an elementwise product would keep one.
// A matrix must be read in its layout: a directly transposed one has its own forms, and one that is
// transposed further up is left to the product.
//
//   row, column   on a CPU; outer too, of 8 columns or from 16 on; thin: 1024 rows, k <= 4, n <= 16
//   thin          on a GPU: 10240 rows, k and n below 32
//
// Measured on a core of a Zen 5, product and sum in us, 2026-11-23: row of 1024 x 1024 461 and 116,
// transposed 524 and 147; column 1064 and 75, transposed 876 and 116; outer 1024 x 1024 224 and 51,
// 4096 x 8 and a relu 30 and 4 (AVX2: 46 and 15), 4096 x 12 31 and 4 (47 and 43), with a sine 46
// and 28 (75 and 103), 4096 x 4 24 and 165; thin 16384 x 4 x 16 178 and 105, 16384 x 8 x 8 220 and
// 246; a transposed matrix in the form of the other kind 954 and 6343.
// Source of the GPU's limits: decompose_mem_bound_mm.py, PyTorch 2.13. The pass runs before the
// cut: the form depends on what defines an operand, and bits must not depend on what is recomputed.
#include <utility>

#include "pass/passes.h"

namespace cleave {
namespace {

using Ops = std::vector<std::string>;

// The dim of rows: 0, or 1 after a batch.
int64_t row_dim(const Match& m) { return m.graph().type(m.outputs()[0]).rank() - 2; }

const Dim& size_at(const Match& m, const char* name, int64_t dim) {
  return m.type(name).shape[static_cast<size_t>(dim)];
}

bool is_one(const Match& m, const Dim& d) { return m.graph().env().provably_equal(d, Dim(1)); }

bool is_transpose(const std::string& op) {
  return op == "permute" || op == "t" || op == "transpose";
}

// Whether v is a transposed matrix, looking at most a few calls up.
bool is_transposed(const Graph& g, ValueId v) {
  for (int up = 0; up < 4; ++up) {
    const NodeId def = g.value(v).def;
    if (!def.valid()) return false;
    const Node& node = g.node(def);
    if (is_transpose(node.op->name)) return true;
    if (!has(node.op->traits, Trait::view) && node.op->name != "_to_copy") return false;
    v = node.inputs[0];
  }
  return true;
}

bool is_plain(const Match& m, const char* name) { return !is_transposed(m.graph(), m[name]); }

bool swaps_last_two(const Match& m) {
  std::vector<int64_t> dims = m.integers("dims");
  for (int64_t& d : dims)
    if (d < 0) d += std::ssize(dims);
  return dims == (dims.size() == 2 ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 2, 1});
}

bool is_on(const Match& m, DeviceKind kind) {
  const Type& y = m.graph().type(m.outputs()[0]);
  return (y.dtype == DType::f32 || y.dtype == DType::f64) && y.device.kind == kind;
}

bool has_one_row(const Match& m) {
  return is_on(m, DeviceKind::cpu) && is_one(m, size_at(m, "a", row_dim(m)));
}
bool has_one_column(const Match& m) {
  return is_on(m, DeviceKind::cpu) && is_one(m, size_at(m, "b", row_dim(m) + 1));
}

// Rows of 16 or more, or of 8: a row of 12 takes longer as an elementwise product, with AVX2.
bool is_whole_vectors(const DimRange& columns) {
  return columns.lo >= 16 || (columns.lo == 8 && columns.hi == 8);
}

bool is_outer(const Match& m) {
  const int64_t r = row_dim(m);
  return is_on(m, DeviceKind::cpu) && is_one(m, size_at(m, "a", r + 1)) &&
         is_whole_vectors(m.graph().env().range_of(size_at(m, "b", r + 1)));
}

bool is_thin(const Match& m) {
  if (row_dim(m) != 0 || !is_plain(m, "a") || !is_plain(m, "b")) return false;
  const SymEnv& env = m.graph().env();
  const int64_t rows = env.range_of(size_at(m, "a", 0)).lo,
                inner = env.range_of(size_at(m, "b", 0)).hi,
                columns = env.range_of(size_at(m, "b", 1)).hi;
  if (is_on(m, DeviceKind::cuda)) return rows >= 10240 && inner < 32 && columns < 32;
  return is_on(m, DeviceKind::cpu) && rows >= 1024 && inner <= 4 && columns <= 16;
}

// Converts the operand to the dtype in which sums are accumulated.
ValueId widened(Builder& b, ValueId v) {
  return b.convert(v, b.type(v).dtype == DType::f64 ? DType::f64 : DType::f32);
}

// Swaps the last two sizes, one of which is 1.
ValueId turned(Builder& b, ValueId v) {
  Shape shape = b.type(v).shape;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return b.view(v, shape);
}

using Form = ValueId (*)(Builder&, const Match&, int64_t row_dim);

ValueId row(Builder& b, const Match& m, int64_t r) {
  const ValueId a = turned(b, widened(b, m["a"])), matrix = widened(b, m["b"]);
  return b.sum(b.mul(matrix, a), {r}, true);
}
ValueId row_transposed(Builder& b, const Match& m, int64_t r) {
  const ValueId a = widened(b, m["a"]), matrix = widened(b, m["source"]);
  return b.unsqueeze(b.sum(b.mul(matrix, a), {r + 1}), r);
}
ValueId column(Builder& b, const Match& m, int64_t r) {
  const ValueId matrix = widened(b, m["a"]), v = turned(b, widened(b, m["b"]));
  return b.sum(b.mul(matrix, v), {r + 1}, true);
}
ValueId column_transposed(Builder& b, const Match& m, int64_t r) {
  const ValueId matrix = widened(b, m["source"]), v = widened(b, m["b"]);
  return b.unsqueeze(b.sum(b.mul(matrix, v), {r}), r + 1);
}
ValueId outer(Builder& b, const Match& m, int64_t) {
  const ValueId left = widened(b, m["a"]), right = widened(b, m["b"]);
  return b.mul(left, right);
}
ValueId thin(Builder& b, const Match& m, int64_t) {
  const ValueId left = b.unsqueeze(widened(b, m["a"]), 2),
                right = b.unsqueeze(widened(b, m["b"]), 0);
  return b.sum(b.mul(left, right), {1});
}

Rule decompose(const char* name, const Pattern& a, const Pattern& b, bool (*when)(const Match&),
               Form form) {
  return {.name = name,
          .search = {either(
              {call(Ops{"mm", "bmm"}, {a, b}), call(Ops{"addmm", "baddbmm"}, {any("c"), a, b})})},
          .when = when,
          .build = [form](Builder& build, const Match& m) -> Values {
            const DType t = build.type(m.outputs()[0]).dtype;
            ValueId y = form(build, m, row_dim(m));
            if (m.has("c")) y = build.add(y, widened(build, m["c"]));
            return {build.convert(y, t)};
          },
          .rounds = true};
}

}  // namespace

Pass decompose_mm() {
  const Pattern a = any("a"), b = any("b");
  const Pattern transposed = call("permute", {any("source")}, {{"dims", bind("dims")}}).shared();
  return {
      .name = "decompose_mm",
      .summary = "products that only move memory become elementwise products and sums",
      .rules = {
          decompose("outer", a, b, is_outer, outer),
          decompose(
              "row_transposed", a, transposed.named("b"),
              [](const Match& m) { return has_one_row(m) && swaps_last_two(m); }, row_transposed),
          decompose(
              "row", a, b, [](const Match& m) { return has_one_row(m) && is_plain(m, "b"); }, row),
          decompose(
              "column_transposed", transposed.named("a"), b,
              [](const Match& m) { return has_one_column(m) && swaps_last_two(m); },
              column_transposed),
          decompose(
              "column", a, b, [](const Match& m) { return has_one_column(m) && is_plain(m, "a"); },
              column),
          decompose("thin", a, b, is_thin, thin)}};
}

}  // namespace cleave
