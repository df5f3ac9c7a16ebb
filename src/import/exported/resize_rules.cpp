// Resizing by filters: each dim is a product with a matrix of weights, [out, in].
//
//   linear      the two elements around a place      cubic   the four around it
//   antialiased the filter is as wide as the scale, its weights sum to 1
//
// Place of o: scale (o + 1/2) - 1/2, or scale o with align_corners.
#include <algorithm>
#include <cmath>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

constexpr double most_times = 1 << 14;

enum class Filter : uint8_t { nearest, nearest_exact, linear, cubic };

struct Resize {
  Call& c;
  Filter filter;
  bool antialias, aligned;
  DType t;

  V op(const char* name, std::vector<CallOperand> operands) {
    return c.op(name, std::move(operands));
  }
  V column(int64_t n) {
    return c.op("unsqueeze", {c.op("arange", {}, {{"end", n}, {"dtype", t}})}, {{"dim", 1}});
  }
  V row(int64_t n) { return c.op("arange", {}, {{"end", n}, {"dtype", t}}); }

  // 1 where the tap, clamped to the dim, is the column.
  V hit(V tap, int64_t in) {
    const V inside = op("clamp", {tap, 0.0, static_cast<double>(in - 1)});
    return c.to(op("eq", {inside, row(in)}), t);
  }
  // Keys' kernel at distance x: near below 1, far below 2.
  V near(V x, double a) {
    const V s = op("sub", {op("mul", {x, a + 2}), a + 3});
    return op("add", {op("mul", {op("mul", {s, x}), x}), 1.0});
  }
  V far(V x, double a) {
    const V s = op("mul", {op("sub", {op("mul", {op("sub", {x, 5.0}), x}), -8.0}), x});
    return op("mul", {op("sub", {s, 4.0}), a});
  }

  V weights(int64_t in, int64_t out, double scale) {
    const V o = column(out);
    if (antialias) return antialiased(o, in, scale);
    V at =
        aligned ? op("mul", {o, scale}) : op("sub", {op("mul", {op("add", {o, 0.5}), scale}), 0.5});
    if (filter == Filter::linear && !aligned) at = op("clamp", {at, 0.0});
    const V low = op("floor", {at}), part = op("sub", {at, low});
    if (filter == Filter::linear) {
      const V first = op("mul", {hit(low, in), op("rsub", {part, 1.0})});
      return op("add", {first, op("mul", {hit(op("add", {low, 1.0}), in), part})});
    }
    V y;
    for (int k = -1; k <= 2; ++k) {
      const V apart = op("abs", {op("sub", {part, static_cast<double>(k)})});
      const V w = k == 0 || k == 1 ? near(apart, -0.75) : far(apart, -0.75);
      const V term = op("mul", {hit(op("add", {low, static_cast<double>(k)}), in), w});
      y = y.valid() ? op("add", {y, term}) : term;
    }
    return y;
  }

  V antialiased(V o, int64_t in, double scale) {
    const double wide = std::max(scale, 1.0), support = (filter == Filter::linear ? 1 : 2) * wide;
    const V center = op("mul", {op("add", {o, 0.5}), scale}), i = row(in);
    const V first = op("trunc", {op("clamp", {op("add", {center, 0.5 - support}), 0.0})});
    const V last = op("trunc", {op("add", {center, 0.5 + support})});
    const V inside = op("logical_and", {op("ge", {i, first}), op("lt", {i, last})});
    const V x = op("abs", {op("mul", {op("add", {op("sub", {i, center}), 0.5}), 1 / wide})});
    V w;
    if (filter == Filter::linear) {
      w = op("clamp", {op("rsub", {x, 1.0}), 0.0});
    } else {
      const V outer = op("where", {op("lt", {x, 2.0}), far(x, -0.5), 0.0});
      w = op("where", {op("lt", {x, 1.0}), near(x, -0.5), outer});
    }
    w = op("where", {inside, w, 0.0});
    return op("div", {w, c.op("sum", {w}, {{"dim", std::vector<int64_t>{1}}, {"keepdim", true}})});
  }

  // Along one dim.
  V resized(V x, int64_t dim, int64_t out, double scale) {
    const int64_t in = c.static_size(x, dim);
    if (filter == Filter::nearest || filter == Filter::nearest_exact) {
      const double half = filter == Filter::nearest ? 0 : 0.5;
      V at = op("floor", {op("mul", {op("add", {row(out), half}), scale})});
      at = op("clamp", {at, 0.0, static_cast<double>(in - 1)});
      return c.op("index_select", {x, c.to(at, DType::i64)}, {{"dim", dim}});
    }
    const V w = c.permute(weights(in, out, scale), {1, 0});
    x = c.op("transpose", {x}, {{"dim0", dim}, {"dim1", -1}});
    x = matmul(c, x, w);
    return c.op("transpose", {x}, {{"dim0", dim}, {"dim1", -1}});
  }
};

// Factors of the dims: of scale_factors, scales, or scales_d, scales_h, scales_w; 0: none.
std::vector<double> factors_of(Call& c, size_t dims) {
  std::vector<double> out(dims);
  if (c.has("scale_factors")) {
    const AttrValue given = c.value("scale_factors");
    const AttrList* list = given.get<AttrList>();
    for (size_t k = 0; list && k < std::min(dims, list->size()); ++k)
      if ((*list)[k].is_number()) out[k] = (*list)[k].as_double();
    return out;
  }
  static constexpr const char* names[] = {"scales_d", "scales_h", "scales_w"};
  for (size_t k = 0; k < dims; ++k) {
    const char* name = names[3 - dims + k];
    if (dims == 1 && c.has("scales")) name = "scales";
    if (c.has(name)) out[k] = c.floating(name, 0);
  }
  return out;
}

Values resize(Call& c, size_t dims, Filter filter, bool antialias) {
  V x = c.tensor(c.find("input") ? "input" : "self");
  const std::vector<double> factors = factors_of(c, dims);
  const std::vector<int64_t> sizes = c.integers("output_size");
  if (c.rank(x) != static_cast<int64_t>(dims) + 2)
    return {c.fail("a tensor of rank {} resized", c.rank(x))};
  const DType t = c.type(x).dtype == DType::f64 ? DType::f64 : DType::f32;
  Resize r{c, filter, antialias, c.flag("align_corners", false), t};
  if (filter != Filter::nearest && filter != Filter::nearest_exact && !is_floating(c.type(x).dtype))
    return {c.fail("{} resized by a filter", c.type(x).text())};
  for (size_t d = 0; c.ok() && d < dims; ++d) {
    const int64_t dim = static_cast<int64_t>(d) + 2, in = c.static_size(x, dim);
    const auto n = static_cast<double>(in);
    if (!(std::abs(factors[d]) < most_times)) return {c.fail("a dim resized by {}", factors[d])};
    const int64_t out =
        d < sizes.size() ? sizes[d] : static_cast<int64_t>(std::floor(n * factors[d]));
    if (in < 1 || out < 1) return {c.fail("a dim of {} resized to {}", in, out)};
    const auto m = static_cast<double>(out);
    double scale = factors[d] > 0 ? 1 / factors[d] : n / m;
    if (r.aligned) scale = out > 1 ? (n - 1) / (m - 1) : 0;
    x = r.resized(x, dim, out, scale);
  }
  return {x};
}

template <size_t dims, Filter filter, bool antialias = false>
Values resized(Call& c) {
  return resize(c, dims, filter, antialias);
}

}  // namespace

std::span<const RuleRow> resize_rules() {
  static constexpr RuleRow rows[] = {
      {"upsample_nearest3d", resized<3, Filter::nearest>},
      {"_upsample_nearest_exact1d", resized<1, Filter::nearest_exact>},
      {"_upsample_nearest_exact2d", resized<2, Filter::nearest_exact>},
      {"_upsample_nearest_exact3d", resized<3, Filter::nearest_exact>},
      {"upsample_linear1d", in_f32<resized<1, Filter::linear>>},
      {"upsample_trilinear3d", in_f32<resized<3, Filter::linear>>},
      {"upsample_bicubic2d", in_f32<resized<2, Filter::cubic>>},
      {"_upsample_bilinear2d_aa", in_f32<resized<2, Filter::linear, true>>},
      {"_upsample_bicubic2d_aa", in_f32<resized<2, Filter::cubic, true>>},
  };
  return rows;
}

}  // namespace cleave::exported
