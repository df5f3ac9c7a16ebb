// Puts frozen weights in the order in which a product reads them; the copy is made once, by what
// fold_frozen takes out of the program.
//
//   mm(x, w)        ->  packed_addmm(x, panels; columns)          w f32[k,n]
//   addmm(b, x, w)  ->  packed_addmm(x, panels, b; columns)
//     panels f32[n/32,k,32] = clone(permute(view(constant_pad_nd(w)); dims=[1,0,2]))
//
//   convolution(x, w, b)  ->  packed_convolution(x, lines, b)     w f32[s,l,k..], of one group
//     lines f32[s/12,p/16,12,16] = clone(permute(view(constant_pad_nd(view(w)));
//     dims=[0,2,1,3]))
//
// Bits are the same. What a product saves is the share of its time in which it would pack w itself:
// 10 cycles for each row of a panel, beside one for each row of x (runtime/gemm_cut.cpp), and more
// where w is transposed or k is a power of two. A convolution packs its weight again for each piece
// of its positions. Measured on a Zen 4 core, times of the product without by with (2026-11-25):
//
//   rows of x            1     4     8    16    64   128          256   512  1024
//                      3.7   1.6   2.2   1.4   1.1  1.02 to 1.25  1.02  1.01  1.01
//   positions of images  49 (512 channels)  196   784    392 (8 images)  1568 (8 images)
//                        1.12 to 1.22       1.02  1.01   1.02 to 1.04    1.02
//
// Against the memory of a second w, more than most_rows and most_positions don't pay.
#include <map>

#include "pass/freeze/frozen_values.h"
#include "pass/passes.h"

namespace cleave {
namespace {

constexpr int64_t most_rows = 256, most_positions = 512;
constexpr int64_t panel = 32;            // packed_addmm
constexpr int64_t rows = 12, line = 16;  // packed_convolution

constexpr int64_t parts(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

int64_t product_of(const std::vector<int64_t>& sizes, size_t first) {
  int64_t product = 1;
  for (size_t d = first; d < sizes.size(); ++d) product *= sizes[d];
  return product;
}

class Packing {
 public:
  Packing(Graph& g, const OpRegistry& ops) : g_(g), b_(g, ops), frozen_(frozen_values(g)) {}

  // What stands for the call; none if it stays.
  Result<ValueId> packed(NodeId n) {
    const std::string& name = g_.node(n).op->name;
    b_.insert_before(n);
    b_.set_loc(g_.node(n).loc);
    b_.set_tag(g_.node(n).tag);
    ValueId made = ValueId::none();
    if (name == "mm" || name == "addmm") made = product(g_.view(n), name == "mm" ? 0 : 1);
    if (name == "convolution") made = convolution(g_.view(n));
    CLEAVE_CHECK(b_.status());
    return made;
  }

 private:
  // Operand x of the call is given in each run and w is frozen, both f32 with elements.
  bool is_read(ValueId x, ValueId w) const {
    for (const ValueId v : {x, w}) {
      const Type& t = g_.type(v);
      if (t.dtype != DType::f32 || !t.is_static() || t.numel().value() == 0) return false;
    }
    return is_frozen(w) && !is_frozen(x);
  }
  bool is_frozen(ValueId v) const { return v.v < frozen_.size() && frozen_[v.v]; }  // else it's new

  ValueId product(const OpView& call, int x) {
    if (!is_read(call.in(x), call.in(x + 1))) return ValueId::none();
    const std::vector<int64_t> w = static_shape(call.in_type(x + 1));
    if (call.in_type(x).shape[0].value() > most_rows) return ValueId::none();
    const ValueId panels = once(call.in(x + 1), [&](ValueId matrix) {
      matrix = padded(matrix, w, 1, panel);
      return b_.permute(b_.view(matrix, {Dim(w[0]), Dim(parts(w[1], panel)), Dim(panel)}),
                        {1, 0, 2});
    });
    const bool adds = x == 1;
    return b_.call1("packed_addmm", {call.in(x), panels, adds ? call.in(0) : ValueId::none()},
                    {{"columns", w[1]},
                     {"beta", adds ? call.float_attr("beta") : 1.0},
                     {"alpha", adds ? call.float_attr("alpha") : 1.0}});
  }

  ValueId convolution(const OpView& call) {
    if (!is_read(call.in(0), call.in(1)) || call.bool_attr("transposed") ||
        call.int_attr("groups") != 1)
      return ValueId::none();
    const std::vector<int64_t> y = static_shape(call.out_type(0)),
                               w = static_shape(call.in_type(1));
    if (y[0] * product_of(y, 2) > most_positions) return ValueId::none();
    const int64_t inner = product_of(w, 1);
    const ValueId lines = once(call.in(1), [&](ValueId weight) {
      const ValueId matrix =
          padded(b_.view(weight, {Dim(w[0]), Dim(inner)}), {w[0], inner}, rows, line);
      return b_.permute(
          b_.view(matrix, {Dim(parts(w[0], rows)), Dim(rows), Dim(parts(inner, line)), Dim(line)}),
          {0, 2, 1, 3});
    });
    NamedAttrs attrs = {{"weight_size", call.in_type(1).shape}};
    for (const char* name :
         {"stride", "padding", "dilation", "transposed", "output_padding", "groups"})
      attrs.emplace_back(name, call.attr(name));
    return b_.call1("packed_convolution",
                    {call.in(0), lines, call.has(2) ? call.in(2) : ValueId::none()},
                    std::move(attrs));
  }

  // A copy of what `turned` gives, for all calls that read the weight.
  template <class F>
  ValueId once(ValueId weight, const F& turned) {
    const auto known = packed_.find(weight);
    if (known != packed_.end()) return known->second;
    return packed_[weight] = b_.call1("clone", {turned(weight)});
  }

  // Rows and columns in whole units.
  ValueId padded(ValueId matrix, const std::vector<int64_t>& size, int64_t row_unit,
                 int64_t column_unit) {
    const int64_t below = parts(size[0], row_unit) * row_unit - size[0],
                  beside = parts(size[1], column_unit) * column_unit - size[1];
    if (below == 0 && beside == 0) return matrix;
    return b_.call1("constant_pad_nd", {matrix},
                    {{"pad", AttrList{0, beside, 0, below}}, {"value", 0.0}});
  }

  Graph& g_;
  Builder b_;
  const std::vector<bool> frozen_;
  std::map<ValueId, ValueId> packed_;
};

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  PassCount count;
  Packing packing(g, ops);
  for (const NodeId n : g.order()) {
    CLEAVE_TRY(const ValueId made, packing.packed(n));
    if (made.is_none()) continue;
    const ValueId old = g.node(n).out(0);
    const std::string name = g.name(old);
    g.replace_uses(old, made);
    g.erase(n);
    CLEAVE_CHECK(g.rename(made, name));
    ++count.matches;
    ++count.nodes;
  }
  return count;
}

}  // namespace

Pass pack_weights() {
  return {.name = "pack_weights",
          .summary = "products of few rows read frozen weights in the order of their sums",
          .run = run,
          .outermost = true};
}

}  // namespace cleave
