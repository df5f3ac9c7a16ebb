// Puts frozen weights in the order in which a product reads them; the copy is made once, by what
// fold_frozen takes out of the program.
//
//   mm(x, w)        ->  packed_addmm(x, panels; columns)          w f32[k,n]
//   addmm(b, x, w)  ->  packed_addmm(x, panels, b; columns)
//     panels f32[n/32,k,32] = clone(permute(view(constant_pad_nd(w)); dims=[1,0,2]))
//
//   convolution(x, w, b)  ->  convolution_pointwise(x, panels, b)  w f32[s,l,k..], of one group
//     panels f32[s/32,p,32] = clone(permute(view(constant_pad_nd(view(w))); dims=[0,2,1]))
//
// Also in the graphs of cond and while_loop, which hoist_frozen takes the copies out of.
//
// Bits are the same. What a product saves is the share of its time in which it would pack w itself:
// 10 cycles for each row of a panel, beside one for each row of x (runtime/gemm_cut.cpp), and more
// where w is transposed or k is a power of two. A convolution packs its weight once or for each
// piece of its positions, and transposes its result with a packed one
// (runtime/convolution_in_place.h). Measured on a Zen 4 (AVX-512), times of the product without by
// with, those of convolutions of ResNet-50 on 224 x 224 pixels:
//
//   rows of x            1     4     8    16    64   128          256   512  1024
//                      3.7   1.6   2.2   1.4   1.1  1.02 to 1.25  1.02  1.01  1.01
//   positions of an image          49            196           784           3136
//     one image, two cores         1.1 to 1.5    1.0 to 1.2    0.9 to 1.2    0.9 to 1.0
//     eight images                 1.02 to 1.14  1.0 to 1.06   0.9 to 1.02   0.8 to 1.0
//
// More than most_rows and most_positions don't pay.
#include <map>

#include "op/convolution.h"
#include "pass/freeze/control_bodies.h"
#include "pass/freeze/frozen_values.h"
#include "pass/passes.h"
#include "pass/replace_calls.h"

namespace cleave {
namespace {

constexpr int64_t most_rows = 256, most_positions = 256;
constexpr int64_t panel = 32;

constexpr int64_t panels_of(int64_t n) { return (n + panel - 1) / panel; }

int64_t product_of(const std::vector<int64_t>& sizes, size_t first) {
  int64_t product = 1;
  for (size_t d = first; d < sizes.size(); ++d) product *= sizes[d];
  return product;
}

class Packing {
 public:
  Packing(Graph& g, const OpRegistry& ops, std::vector<bool> frozen)
      : g_(g), b_(g, ops), frozen_(std::move(frozen)) {}

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
      const ValueId whole = padded(matrix, panels_of(w[1]) * panel - w[1], 0);
      return b_.permute(b_.view(whole, {Dim(w[0]), Dim(panels_of(w[1])), Dim(panel)}), {1, 0, 2});
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
    if (product_of(y, 2) > most_positions) return ValueId::none();
    const int64_t inner = product_of(w, 1);
    const ValueId panels = once(call.in(1), [&](ValueId weight) {
      const ValueId rows = b_.view(weight, {Dim(w[0]), Dim(inner)});
      const ValueId whole = padded(rows, 0, panels_of(w[0]) * panel - w[0]);
      return b_.permute(b_.view(whole, {Dim(panels_of(w[0])), Dim(panel), Dim(inner)}), {0, 2, 1});
    });
    NamedAttrs attrs = {{"packed_size", call.in_type(1).shape}, {"relu", false}};
    for (const char* name : convolution_attr_names) attrs.emplace_back(name, call.attr(name));
    return b_.call1("convolution_pointwise",
                    {call.in(0), panels, call.has(2) ? call.in(2) : ValueId::none()},
                    std::move(attrs));
  }

  // A copy of what `turned` gives, for all calls that read the weight.
  template <class F>
  ValueId once(ValueId weight, const F& turned) {
    const auto known = packed_.find(weight);
    if (known != packed_.end()) return known->second;
    return packed_[weight] = b_.call1("clone", {turned(weight)});
  }

  // Zeros beside the columns and below the rows.
  ValueId padded(ValueId matrix, int64_t beside, int64_t below) {
    if (beside == 0 && below == 0) return matrix;
    return b_.call1("constant_pad_nd", {matrix},
                    {{"pad", AttrList{0, beside, 0, below}}, {"value", 0.0}});
  }

  Graph& g_;
  Builder b_;
  const std::vector<bool> frozen_;
  std::map<ValueId, ValueId> packed_;
};

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  return change_with_bodies(g, [&](Graph& graph, std::vector<bool> frozen) {
    Packing packing(graph, ops, std::move(frozen));
    return replace_calls(graph, [&](NodeId n) { return packing.packed(n); });
  });
}

}  // namespace

Pass pack_weights() {
  return {.name = "pack_weights",
          .summary = "products of few rows read frozen weights in the order of their sums",
          .run = run,
          .outermost = true};
}

}  // namespace cleave
