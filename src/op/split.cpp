// Views of consecutive parts of a dim, one result each: split_with_sizes, split, chunk, unbind.
//
// split_with_sizes(self; split_sizes, dim)   parts of these sizes
//   (C1) self has a dim  (C2) dim in range  (C3) no size is negative  (C4) they add up to the dim
// split(self; split_size, dim)               parts of one size, the last one smaller (one number);
//                                            parts of these sizes (a list of several)
//   (C1..C4) as above  (C5) one number is positive, or 0 for a dim of 0; the dim is static
// chunk(self; chunks, dim)                   parts of ceil(size / chunks) until nothing is left
//   (C1..C2) as above  (C5) chunks is positive; the dim is static
// unbind(self; dim)                          one result for each position of a dim; drops the dim
//   (C1..C2) as above  (C5) the dim is static
// All of them: (C6) at most 65536 parts.
// Gradients: cat, or stack, of the cotangents, with zeros for those that are absent.
#include <cmath>

#include "op/cost.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"
#include "op/window.h"

namespace cleave {
namespace {

using loop::Layout;

constexpr Trait traits = Trait::view | Trait::fusible | Trait::recomputable;

constexpr int64_t max_parts = 65536;

struct Parts {
  int64_t dim = 0;
  Shape sizes;
};

Result<int64_t> split_dim(const OpView& op) {
  const Type& x = op.in_type(0);
  if (x.rank() == 0) return op.broken("C1", "self is {}, expected at least one dim", x.text());
  return checked_dim(op, "C2", op.int_attr("dim"), x);
}

Result<int64_t> static_size(const OpView& op, int64_t dim) {
  const Dim& size = op.in_type(0).shape[dim];
  if (size.is_const()) return size.value();
  return op.broken("C5", "dim {} of self: {} is {}, expected a size that is known", dim,
                   op.in_type(0).text(), size.text());
}

Result<Parts> parts_of_sizes(const OpView& op, const char* attr) {
  Parts p;
  CLEAVE_TRY(p.dim, split_dim(op));
  p.sizes = op.dims_attr(attr);
  Dim sum = 0;
  for (const Dim& size : p.sizes) {
    if (op.env().range_of(size).lo < 0)
      return op.broken("C3", "size {} of {}: expected none below 0", size.text(),
                       shape_text(p.sizes));
    sum = sum + size;
  }
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_equal(
      op, "C4",
      fmt::format("the sum of {} and dim {} of self: {}", shape_text(p.sizes), p.dim, x.text()),
      sum, x.shape[p.dim]));
  return p;
}

Status check_count(const OpView& op, int64_t parts) {
  if (parts <= max_parts) return {};
  return op.broken("C6", "{} parts of dim {} of self: {}, expected at most {}", parts,
                   op.int_attr("dim"), op.in_type(0).text(), max_parts);
}

// Parts of `part` elements; the last one holds the remainder. An empty dim has one empty part.
Result<Shape> equal_parts(const OpView& op, int64_t size, int64_t part) {
  if (size > 0) CLEAVE_CHECK(check_count(op, size / part + (size % part != 0)));
  Shape sizes;
  for (int64_t left = size; left > 0; left -= part) sizes.emplace_back(std::min(left, part));
  if (sizes.empty()) sizes.emplace_back(0);
  return sizes;
}

Result<Parts> parts_of_split(const OpView& op) {
  const Shape given = op.dims_attr("split_size");
  if (given.size() != 1) return parts_of_sizes(op, "split_size");
  Parts p;
  CLEAVE_TRY(p.dim, split_dim(op));
  const Dim &whole = op.in_type(0).shape[p.dim], parts = Dim::floordiv(whole, given[0]);
  const bool even = parts.is_const() && parts.value() > 0 && parts * given[0] == whole;
  if (even && op.env().range_of(given[0]).lo >= 0 && !whole.is_const()) {
    CLEAVE_CHECK(check_count(op, parts.value()));
    p.sizes.assign(static_cast<size_t>(parts.value()), given[0]);
    return p;
  }
  CLEAVE_TRY(const int64_t size, static_size(op, p.dim));
  if (!given[0].is_const() || given[0].value() < 0 || (given[0].value() == 0 && size > 0))
    return op.broken("C5", "split_size is {} for a dim of {}, expected a positive integer",
                     given[0].text(), size);
  CLEAVE_TRY(p.sizes, equal_parts(op, size, given[0].value()));
  return p;
}

Result<Parts> parts_of_chunk(const OpView& op) {
  Parts p;
  CLEAVE_TRY(p.dim, split_dim(op));
  const int64_t chunks = op.int_attr("chunks");
  if (chunks <= 0) return op.broken("C5", "chunks is {}, expected at least 1", chunks);
  CLEAVE_TRY(const int64_t size, static_size(op, p.dim));
  if (size > 0) {
    CLEAVE_TRY(p.sizes, equal_parts(op, size, size / chunks + (size % chunks != 0)));
    return p;
  }
  CLEAVE_CHECK(check_count(op, chunks));
  p.sizes.assign(static_cast<size_t>(chunks), Dim(0));
  return p;
}

Result<Parts> parts_of_unbind(const OpView& op) {
  Parts p;
  CLEAVE_TRY(p.dim, split_dim(op));
  CLEAVE_TRY(const int64_t size, static_size(op, p.dim));
  CLEAVE_CHECK(check_count(op, size));
  p.sizes.assign(static_cast<size_t>(size), Dim(1));
  return p;
}

Result<Parts> checked_parts(const OpView& op) {
  if (op.name() == "split_with_sizes") return parts_of_sizes(op, "split_sizes");
  if (op.name() == "split") return parts_of_split(op);
  return op.name() == "chunk" ? parts_of_chunk(op) : parts_of_unbind(op);
}

bool drops_dim(const OpView& op) { return op.name() == "unbind"; }

Result<Types> infer_parts(const OpView& op) {
  CLEAVE_TRY(const Parts p, checked_parts(op));
  const Type& x = op.in_type(0);
  Types out;
  for (const Dim& size : p.sizes)
    out.push_back(typed_like(
        x, x.dtype, drops_dim(op) ? without_dim(x.shape, p.dim) : with_size(x.shape, p.dim, size)));
  return out;
}

// Splits x along its dim; the sizes are recomputed here.
Arrays cut(const Array& x, int64_t dim, const std::vector<int64_t>& sizes, bool drop) {
  Arrays out;
  int64_t start = 0;
  for (int64_t size : sizes) {
    std::vector<int64_t> shape = x.shape;
    shape[dim] = size;
    Array part = moved(x, shape, [&](std::vector<int64_t> at) {
      at[dim] += start;
      return position_of(at, x.shape);
    });
    if (drop) part.shape.erase(part.shape.begin() + dim);
    out.push_back(std::move(part));
    start += size;
  }
  return out;
}

Result<Arrays> reference_parts(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const int64_t given = op.int_attr("dim"), dim = given < 0 ? given + x.rank() : given;
  const int64_t n = x.shape[dim];
  std::vector<int64_t> sizes;
  int64_t each = 1;
  if (op.name() == "split_with_sizes") {
    sizes = op.ints_attr("split_sizes");
  } else if (op.name() == "split") {
    sizes = op.ints_attr("split_size");
    if (sizes.size() == 1) each = sizes[0];
    if (sizes.size() == 1) sizes.clear();
  } else if (op.name() == "chunk") {
    const int64_t chunks = op.int_attr("chunks");
    each = n / chunks + (n % chunks != 0);
    if (n == 0) sizes.assign(static_cast<size_t>(chunks), 0);
  }
  const bool in_order = op.name() == "split_with_sizes" || !sizes.empty();
  for (int64_t at = 0; !in_order && at < n; at += each) sizes.push_back(std::min(each, n - at));
  if (op.name() == "split" && sizes.empty()) sizes = {0};
  return cut(x, dim, sizes, op.name() == "unbind");
}

Values decompose_parts(Builder& b, const OpView& op) {
  const Parts p = *checked_parts(op);
  Values out;
  Dim start = 0;
  for (const Dim& size : p.sizes) {
    const ValueId part = b.slice(op.in(0), p.dim, start, start + size);
    out.push_back(drops_dim(op) ? b.squeeze(part, {p.dim}) : part);
    start = start + size;
  }
  return out;
}

Values grad_parts(Builder& b, const GradView& op) {
  const Parts p = *checked_parts(op);
  const Type& x = op.in_type(0);
  Values parts;
  for (size_t k = 0; k < p.sizes.size(); ++k) {
    const ValueId d = op.dout(static_cast<int>(k));
    const Type part = typed_like(x, x.dtype, with_size(x.shape, p.dim, p.sizes[k]));
    if (!d.valid())
      parts.push_back(zeros(b, part));
    else
      parts.push_back(drops_dim(op) ? b.unsqueeze(d, p.dim) : d);
  }
  if (parts.size() == 1) return parts;
  return {b.cat(parts, p.dim)};
}

std::optional<Layout> layout_part(const OpView& op, const Layout& in, int k) {
  const Parts p = *checked_parts(op);
  Layout out = in;
  for (int j = 0; j < k; ++j) out.offset += p.sizes[j].value() * in.strides[p.dim];
  out.shape[p.dim] = p.sizes[k].value();
  if (out.numel() == 0) out.offset = in.offset;
  if (!drops_dim(op)) return out;
  out.shape.erase(out.shape.begin() + p.dim);
  out.strides.erase(out.strides.begin() + p.dim);
  return out;
}

OpDef parts_entry(const char* name, const char* signature, const char* summary,
                  Lazy<Samples> samples, Lazy<Rejects> rejects) {
  const auto all_rejects = [=] {
    const auto c1 = fmt::format("{}: C1: self is f32[], expected at least one dim", name);
    const auto c2 = fmt::format("{}: C2: dim 2 is outside [-2, 2) of self: f32[2,3]", name);
    SampleAttrs attrs = samples()[0].attrs, outside;
    for (const auto& [attr, value] : attrs)
      if (attr != "dim") outside.emplace_back(attr, value);
    outside.emplace_back("dim", 2);
    Rejects out = rejects();
    out.push_back({"C1", {{f32({})}, attrs}, c1});
    out.push_back({"C2", {{f32({2, 3})}, outside}, c2});
    return out;
  };
  return OpDef{
      .name = name,
      .signature = signature,
      .summary = summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = traits,
      .infer = infer_parts,
      .reference = reference_parts,
      .decompose = decompose_parts,
      .grad = grad_parts,
      .lower = loop::view(layout_part),
      .cost = cost_of_view(),
      .samples = samples,
      .rejects = all_rejects,
  };
}

OpDef split_with_sizes() {
  return parts_entry(
      "split_with_sizes", "(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
      "Consecutive parts of a dim, of these sizes.",
      [] {
        return joined({over_dtypes(all_dtypes, {2, 6}, {{"split_sizes", {1, 2, 3}}, {"dim", 1}}),
                       {{{f32({5})}, {{"split_sizes", {2, 3}}}},
                        {{f32({2, 4, 2})}, {{"split_sizes", {3, 0, 1}}, {"dim", -2}}},
                        {{f32({3})}, {{"split_sizes", {3}}}},
                        {{f32({0, 2})}, {{"split_sizes", {0, 0}}}},
                        {{f32({5})}, {{"split_sizes", {1, 1, 1, 1, 1}}}},
                        {{bf16({2, 3, 4})}, {{"split_sizes", {1, 3}}, {"dim", 2}}},
                        {{f64({4, 2})}, {{"split_sizes", {0, 4}}}},
                        {{f32({2, 70})}, {{"split_sizes", {33, 37}}, {"dim", 1}}},
                        {{f16({1, 6})}, {{"split_sizes", {2, 2, 2}}, {"dim", -1}}},
                        {{f32({3, 0})}, {{"split_sizes", {2, 1}}}},
                        {{f32({2, 2, 2, 3})}, {{"split_sizes", {1, 1}}, {"dim", -3}}},
                        {{f32({3}).with({NAN, INFINITY, -0.0})}, {{"split_sizes", {1, 2}}}}}});
      },
      []() -> Rejects {
        return {
            {"C3",
             {{f32({3})}, {{"split_sizes", {-1, 4}}}},
             "split_with_sizes: C3: size -1 of [-1,4]: expected none below 0"},
            {"C4",
             {{f32({3})}, {{"split_sizes", {1, 1}}}},
             "split_with_sizes: C4: the sum of [1,1] and dim 0 of self: f32[3]: 2 and 3, expected "
             "equal"}};
      });
}

OpDef split() {
  return parts_entry(
      "split", "(Tensor self, SymInt[1] split_size, int dim=0) -> Tensor[]",
      "Consecutive parts of a dim, of one size or of these sizes.",
      [] {
        return joined({over_dtypes(all_dtypes, {2, 5}, {{"split_size", 2}, {"dim", 1}}),
                       {{{f32({6})}, {{"split_size", {3}}}},
                        {{f32({4, 2})}, {{"split_size", {1, 3}}, {"dim", -2}}},
                        {{f32({3})}, {{"split_size", 8}}},
                        {{f32({0})}, {{"split_size", 0}}},
                        {{f32({0})}, {{"split_size", 2}}},
                        {{f32({5})}, {{"split_size", 1}}},
                        {{bf16({2, 3, 4})}, {{"split_size", 3}, {"dim", 2}}},
                        {{f32({4})}, {{"split_size", 4}}},
                        {{f64({4, 2})}, {{"split_size", {0, 4}}}},
                        {{f32({2, 70})}, {{"split_size", 33}, {"dim", 1}}},
                        {{f16({1, 6})}, {{"split_size", {2, 2, 2}}, {"dim", -1}}},
                        {{f32({3, 0})}, {{"split_size", 2}}},
                        {{f32({2, 2, 2, 3})}, {{"split_size", 1}, {"dim", -3}}},
                        {{f32({3}).with({NAN, INFINITY, -0.0})}, {{"split_size", 2}}}}});
      },
      []() -> Rejects {
        return {{"C4",
                 {{f32({3})}, {{"split_size", {1, 1}}}},
                 "split: C4: the sum of [1,1] and dim 0 of self: f32[3]: 2 and 3, expected "
                 "equal"},
                {"C5",
                 {{f32({3})}, {{"split_size", 0}}},
                 "split: C5: split_size is 0 for a dim of 3, expected a positive integer"},
                {"C6",
                 {{i32({70000})}, {{"split_size", 1}}},
                 "split: C6: 70000 parts of dim 0 of self: i32[70000], expected at most "
                 "65536"}};
      });
}

OpDef chunk() {
  return parts_entry(
      "chunk", "(Tensor self, int chunks, int dim=0) -> Tensor[]",
      "At most so many consecutive parts of a dim, all but the last of one size.",
      [] {
        return joined({over_dtypes(all_dtypes, {2, 6}, {{"chunks", 3}, {"dim", 1}}),
                       {{{f32({7})}, {{"chunks", 3}}},
                        {{f32({7})}, {{"chunks", 5}}},
                        {{f32({2, 3})}, {{"chunks", 9}, {"dim", -1}}},
                        {{f32({0})}, {{"chunks", 3}}},
                        {{f32({3})}, {{"chunks", 1}}},
                        {{bf16({2, 3, 4})}, {{"chunks", 2}, {"dim", 2}}},
                        {{f32({6})}, {{"chunks", 6}}},
                        {{f64({4, 2})}, {{"chunks", 3}}},
                        {{f32({2, 70})}, {{"chunks", 4}, {"dim", 1}}},
                        {{f16({1, 6})}, {{"chunks", 4}, {"dim", -1}}},
                        {{f32({3, 0})}, {{"chunks", 2}}},
                        {{f32({1})}, {{"chunks", 2}}},
                        {{f32({2, 2, 2, 3})}, {{"chunks", 2}, {"dim", -3}}},
                        {{f32({9})}, {{"chunks", 4}}},
                        {{f32({3}).with({NAN, INFINITY, -0.0})}, {{"chunks", 2}}}}});
      },
      []() -> Rejects {
        return {
            {"C5", {{f32({3})}, {{"chunks", 0}}}, "chunk: C5: chunks is 0, expected at least 1"},
            {"C6",
             {{f32({0})}, {{"chunks", 70000}}},
             "chunk: C6: 70000 parts of dim 0 of self: f32[0], expected at most 65536"}};
      });
}

OpDef unbind() {
  return parts_entry(
      "unbind", "(Tensor self, int dim=0) -> Tensor[]", "One result for each position of a dim.",
      [] {
        return joined({over_dtypes(all_dtypes, {3, 2}, {{"dim", 0}}),
                       {{{f32({2, 3})}, {{"dim", -1}}},
                        {{f32({2})}},
                        {{f32({2, 0})}},
                        {{f32({1, 2, 2})}, {{"dim", 1}}},
                        {{bf16({2, 3, 4})}, {{"dim", 2}}},
                        {{f64({1})}},
                        {{f32({2, 5})}, {{"dim", 1}}},
                        {{f16({1, 6})}, {{"dim", -1}}},
                        {{f32({3, 0})}, {{"dim", 0}}},
                        {{f32({2, 2, 2, 3})}, {{"dim", -3}}},
                        {{f32({3, 70})}},
                        {{f32({2, 1})}, {{"dim", -2}}},
                        {{f32({3}).with({NAN, INFINITY, -0.0})}}}});
      },
      []() -> Rejects {
        return {{"C6",
                 {{f32({70000, 0})}},
                 "unbind: C6: 70000 parts of dim 0 of self: f32[70000,0], expected at most "
                 "65536"}};
      });
}

}  // namespace

CLEAVE_OPS(split) { return {split_with_sizes(), split(), chunk(), unbind()}; }

}  // namespace cleave
