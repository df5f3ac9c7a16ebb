// by_rows(operands; body, split, pieces) -> y...
//
//   split = [1, 0, ...]      body(rows 0 to r of a, b)        rows 0 to r of y
//   a [pieces * r, *s]       body(rows r to 2 r of a, b)      rows r to 2 r of y
//   b [*t]                   ...
//
//   split    (C1) 0 or 1 for each operand; (C2) a split operand has a static first dim that pieces
//            divides; the others are handed to each piece whole
//   body     a graph with (C3) one placeholder for each operand, (C4) of its type, of a split one
//            of a piece's; it returns (C5) only results, at least one, each with a first dim; (C6)
//            its symints are the caller's of the same name
//   pieces   (C1) at least 1
//   y        the pieces' results, joined along dim 0
//
// The pieces run in order, so what a piece makes for itself is in memory once. Made by
// remat/split_updates, after every stage that inspects single calls.
#include <functional>
#include <numeric>

#include "ir/subgraph.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/subgraph_rules.h"

namespace cleave {
namespace {

// The types of what a piece is handed.
Result<Types> piece_types(const OpView& op) {
  const std::vector<int64_t> split = op.ints_attr("split");
  const int64_t pieces = op.int_attr("pieces");
  const auto is_flag = [](int64_t s) { return s == 0 || s == 1; };
  if (pieces < 1 || std::cmp_not_equal(split.size(), op.list_size()) ||
      !std::ranges::all_of(split, is_flag))
    return op.broken("C1", "{} pieces of {} flags for {} operands", pieces, split.size(),
                     op.list_size());
  Types out;
  for (int k = 0; k < op.list_size(); ++k) {
    Type t = op.list_type(k);
    if (split[static_cast<size_t>(k)] == 1) {
      if (t.rank() == 0 || !t.shape[0].is_const() || t.shape[0].value() % pieces != 0)
        return op.broken("C2", "operand {} is {}, expected rows in {} equal pieces", k, t.text(),
                         pieces);
      t.shape[0] = Dim(t.shape[0].value() / pieces);
      t.strides.reset();
    }
    out.push_back(std::move(t));
  }
  return out;
}

Result<Types> infer(const OpView& op) {
  CLEAVE_TRY(const Types handed, piece_types(op));
  std::vector<const Type*> types;
  for (const Type& t : handed) types.push_back(&t);
  CLEAVE_CHECK(check_subgraph(op, "body", types));
  Types out = result_types(*op.graph_attr("body"));
  for (Type& t : out) {
    if (t.rank() == 0 || !t.shape[0].is_const())
      return op.broken("C5", "body returns {}, expected rows", t.text());
    t.shape[0] = Dim(t.shape[0].value() * op.int_attr("pieces"));
    t.strides.reset();
  }
  return out;
}

// Piece k of the rows.
Array piece_of(const Array& a, int64_t k, int64_t pieces) {
  std::vector<int64_t> shape = a.shape;
  shape[0] /= pieces;
  Array out(a.dtype, std::move(shape));
  const auto take = [&](const auto& from, auto& to) {
    std::copy_n(from.begin() + k * out.numel(), out.numel(), to.begin());
  };
  if (a.floating())
    take(a.f, out.f);
  else
    take(a.i, out.i);
  return out;
}

Result<Arrays> reference(const RunView& op, std::span<const Array* const> in) {
  const std::vector<int64_t> split = op.ints_attr("split");
  const int64_t pieces = op.int_attr("pieces");
  Arrays out;
  for (int k = 0; k < op.out_count(); ++k)
    out.emplace_back(op.out_type(k).dtype, static_shape(op.out_type(k)));
  for (int64_t p = 0; p < pieces; ++p) {
    Arrays parts(in.size());
    std::vector<const Array*> handed(in.begin(), in.end());
    for (size_t k = 0; k < in.size(); ++k)
      if (split[k] == 1) handed[k] = &(parts[k] = piece_of(*in[k], p, pieces));
    CLEAVE_TRY(const Arrays made, op.run(*op.graph_attr("body"), handed));
    for (size_t k = 0; k < out.size(); ++k) {
      const auto at = static_cast<std::ptrdiff_t>(p * made[k].numel());
      std::ranges::copy(made[k].f, out[k].f.begin() + (out[k].floating() ? at : 0));
      std::ranges::copy(made[k].i, out[k].i.begin() + (out[k].floating() ? 0 : at));
    }
  }
  return out;
}

Sample call(std::vector<SampleTensor> operands, std::string body, std::vector<int64_t> split,
            int64_t pieces) {
  return {{std::move(operands)},
          {{"body", std::move(body)}, {"split", std::move(split)}, {"pieces", pieces}}};
}

std::vector<Sample> samples() {
  const std::string product = "%a: input f32[3,5], %b: input f32[5,7], %c: input f32[3,7]";
  return {call({f32({6, 40}), f32({40})},
               graph_text("%a: input f32[2,40], %b: input f32[40]",
                          {"%s = add(%a, %b)", "%e = exp(%s)", "%r = mul(%e, %s)"}, "%r, %s"),
               {1, 0}, 3),
          call({f32({12, 5}), f32({5, 7}), f32({12, 7})},
               graph_text(product, {"%p = mm(%a, %b)", "%r = mul(%p, %c)"}, "%r"), {1, 0, 1}, 4),
          call({i64({4, 2}), i64({2})},
               graph_text("%a: input i64[2,2], %b: input i64[1]", {"%r = add(%a, %b)"}, "%r"),
               {1, 1}, 2),
          call({bf16({6, 3})}, graph_text("%a: input bf16[6,3]", {"%r = sin(%a)"}, "%r"), {1}, 1)};
}

std::vector<Reject> rejects() {
  const std::string one = graph_text("%a: input f32[2]", {"%r = sin(%a)"}, "%r");
  return {{"C1", call({f32({2})}, one, {1}, 0), "by_rows: C1: 0 pieces of 1 flags for 1 operands"},
          {"C2", call({f32({3})}, one, {1}, 2),
           "by_rows: C2: operand 0 is f32[3], expected rows in 2 equal pieces"},
          {"C4", call({f32({6})}, one, {1}, 2),
           "by_rows: C3: %a of body is f32[2], its operand f32[3]"},
          {"C5",
           call({f32({2, 2})}, graph_text("%a: input f32[1,2]", {"%r = sum(%a; dim=[0,1])"}, "%r"),
                {1}, 2),
           "by_rows: C5: body returns f32[], expected rows"}};
}

}  // namespace

CLEAVE_OPS(by_rows) {
  return {OpDef{
      .name = "by_rows",
      .signature = "(Graph body, Tensor[] operands, int[] split, int pieces) -> Tensor[]",
      .summary = "A graph for equal pieces of rows, one after the other.",
      .source = "cleave",
      .traits = Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"its calls were there before they were put together"},
      .grad = Absent{"calls are put together after the gradient"},
      .lower = loop::by_rows(),
      .cost =
          [](const OpView& op) {
            return Cost{op.int_attr("pieces") * cost_of_graph(*op.graph_attr("body")).flops,
                        bytes_moved(op)};
          },
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
