// Images read at places between their elements: grid_sampler of two or three dims.
//
//   input [N,C,s...], grid [N,o...,dims], the last dim of s first: y [N,C,o...]
//
// A coordinate x in [-1,1] is place ((x + 1) n - 1) / 2 of a dim of n, or (x + 1) / 2 (n - 1) with
// align_corners. Places outside read 0, the border, or are reflected.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

constexpr double cubic = -0.75;
enum Mode : int64_t { linear_mode, nearest_mode, cubic_mode };
enum Padding : int64_t { zeros, border, reflection };

struct Sampling {
  Call& c;
  V input, grid;
  int64_t dims, mode, padding;
  bool aligned;

  V op(const char* name, std::vector<CallOperand> operands) {
    return c.op(name, std::move(operands));
  }
  double size(int64_t d) { return static_cast<double>(c.static_size(input, d + 2)); }

  // Coordinates along dim d, [N,P].
  V place(int64_t d) {
    const V x = c.op("select", {grid}, {{"dim", -1}, {"index", dims - 1 - d}});
    const V flat = c.view(x, {c.size(grid, 0), rest()});
    const double n = size(d);
    if (aligned) return op("mul", {op("add", {flat, 1.0}), (n - 1) / 2});
    return op("div", {op("sub", {op("mul", {op("add", {flat, 1.0}), n}), 1.0}), 2.0});
  }
  Dim rest() {
    Dim p = 1;
    for (int64_t d = 1; d + 1 < c.rank(grid); ++d) p = p * c.size(grid, d);
    return p;
  }

  // Back and forth between low and low + span.
  V reflected(V x, double low, double span) {
    if (span <= 0) return op("mul", {x, 0.0});
    const V from = op("abs", {op("sub", {x, low})});
    const V extra = op("fmod", {from, span});
    const V flips = op("fmod", {op("floor", {op("div", {from, span})}), 2.0});
    const V even = op("add", {extra, low});
    const V odd = op("rsub", {extra, span + low});
    return op("where", {op("eq", {flips, 0.0}), even, odd});
  }
  V padded(V x, int64_t d) {
    const double n = size(d);
    if (padding == zeros) return x;
    if (padding == reflection) x = aligned ? reflected(x, 0, n - 1) : reflected(x, -0.5, n);
    // a coordinate at the border has no gradient
    x = op("where", {op("le", {x, 0.0}), 0.0, x});
    return op("where", {op("ge", {x, n - 1}), n - 1, x});
  }

  struct Tap {
    V place, weight;  // whole numbers in floating point, [N,P]
  };
  std::vector<Tap> taps(int64_t d) {
    const V at = place(d);
    if (mode == nearest_mode) return {{op("round", {padded(at, d)}), V::none()}};
    if (mode == linear_mode) {
      const V x = padded(at, d), low = op("floor", {x}), part = op("sub", {x, low});
      return {{low, op("rsub", {part, 1.0})}, {op("add", {low, 1.0}), part}};
    }
    const V low = op("floor", {at}), t = op("sub", {at, low});
    std::vector<Tap> out;
    for (int k = -1; k <= 2; ++k)
      out.push_back({padded(op("add", {low, static_cast<double>(k)}), d), cubic_weight(t, k)});
    return out;
  }
  // Keys' kernel at distance |t - k|.
  V cubic_weight(V t, int k) {
    const V x = op("abs", {op("sub", {t, static_cast<double>(k)})});
    const auto horner = [&](double a, double b, double e, double f) {
      const V ax = op("add", {op("mul", {x, a}), b});
      return op("add", {op("mul", {op("add", {op("mul", {ax, x}), e}), x}), f});
    };
    if (k == 0 || k == 1) return horner(cubic + 2, -(cubic + 3), 0, 1);
    return horner(cubic, -5 * cubic, 8 * cubic, -4 * cubic);
  }

  // What lies at the taps, one a dim: weighted, 0 outside.
  V read(const std::vector<Tap>& at) {
    V index, inside, weight;
    for (int64_t d = 0; d < dims; ++d) {
      const Tap& tap = at[static_cast<size_t>(d)];
      const double n = size(d);
      const V in = op("logical_and", {op("ge", {tap.place, 0.0}), op("le", {tap.place, n - 1})});
      inside = d == 0 ? in : op("logical_and", {inside, in});
      // not the conversion of a number out of range, or NaN
      const V safe = op("where", {in, c.op("detach", {tap.place}), 0.0});
      const V whole = c.to(safe, DType::i64);
      const CallOperand across{AttrValue(c.static_size(input, d + 2))};
      index = d == 0 ? whole : op("add", {op("mul", {index, across}), whole});
      if (!tap.weight.valid()) continue;
      weight = weight.valid() ? op("mul", {weight, tap.weight}) : tap.weight;
    }
    const Dim n = c.size(input, 0), channels = c.size(input, 1), points = rest();
    const V flat = c.view(input, {n, channels, elements()});
    index = c.op("expand", {c.op("unsqueeze", {index}, {{"dim", 1}})},
                 {{"size", Shape{n, channels, points}}});
    V y = c.op("gather", {flat, index}, {{"dim", 2}});
    y = op("where", {c.op("unsqueeze", {inside}, {{"dim", 1}}), y, 0.0});
    return weight.valid() ? op("mul", {y, c.op("unsqueeze", {weight}, {{"dim", 1}})}) : y;
  }
  Dim elements() {
    Dim p = 1;
    for (int64_t d = 0; d < dims; ++d) p = p * c.size(input, d + 2);
    return p;
  }

  Values run() {
    std::vector<std::vector<Tap>> all;
    for (int64_t d = 0; d < dims; ++d) all.push_back(taps(d));
    if (!c.ok()) return {};
    V y;
    std::vector<size_t> k(static_cast<size_t>(dims));
    for (bool more = true; more;) {
      std::vector<Tap> at;
      for (size_t d = 0; d < k.size(); ++d) at.push_back(all[d][k[d]]);
      const V part = read(at);
      y = y.valid() ? op("add", {y, part}) : part;
      more = false;
      for (size_t d = k.size(); d-- > 0 && !more;) {
        more = ++k[d] < all[d].size();
        if (!more) k[d] = 0;
      }
    }
    Shape size{c.size(input, 0), c.size(input, 1)};
    for (int64_t d = 1; d + 1 < c.rank(grid); ++d) size.push_back(c.size(grid, d));
    return {c.view(y, size)};
  }
};

Values grid_sampler(Call& c) {
  Sampling s{c,
             c.tensor("input"),
             c.tensor("grid"),
             c.rank(c.tensor("input")) - 2,
             c.integer("interpolation_mode", 0),
             c.integer("padding_mode", 0),
             c.flag("align_corners", false)};
  if (s.dims < 2 || s.dims > 3 || (s.mode == cubic_mode && s.dims != 2))
    return {c.fail("grid_sampler of {} dims", s.dims)};
  return s.run();
}

}  // namespace

std::span<const RuleRow> sampling_rules() {
  static constexpr RuleRow rows[] = {
      {"grid_sampler", in_f32<grid_sampler>},
      {"grid_sampler_2d", in_f32<grid_sampler>},
      {"grid_sampler_3d", in_f32<grid_sampler>},
  };
  return rows;
}

}  // namespace cleave::exported
