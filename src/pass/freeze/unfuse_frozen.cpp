// Takes a sum out of a product of frozen values, which fold_frozen then computes once.
//
//   addmm(x, w, v; beta, alpha)  ->  add(alpha * mm(w, v), beta * x)       w, v frozen, x isn't
//   baddbmm                      ->  the same with bmm
//
// fuse_addmm fused the sum before anything was known to be frozen. In f32 and f64 bits are the
// same: the product is rounded before it is multiplied and x is added (runtime/gemm_block_code.h).
// In bf16 and f16 they aren't, and the sum stays. So it does where fold_frozen would leave the
// product.
#include "pass/freeze/control_bodies.h"
#include "pass/freeze/frozen_values.h"
#include "pass/passes.h"
#include "pass/replace_calls.h"

namespace cleave {
namespace {

class Apart {
 public:
  Apart(Graph& g, const OpRegistry& ops, std::vector<bool> frozen)
      : g_(g), b_(g, ops), frozen_(std::move(frozen)) {}

  // What stands for the call; none if it stays.
  Result<ValueId> split(NodeId n) {
    const std::string& name = g_.node(n).op->name;
    if ((name != "addmm" && name != "baddbmm") || !pays(n)) return ValueId::none();
    const OpView call = g_.view(n);
    b_.insert_before(n);
    b_.set_loc(g_.node(n).loc);
    b_.set_tag(g_.node(n).tag);
    const double alpha = call.float_attr("alpha"), beta = call.float_attr("beta");
    const ValueId x = call.in(0);
    const ValueId product = b_.call1(name == "addmm" ? "mm" : "bmm", {call.in(1), call.in(2)});
    const ValueId made = scaled(product, alpha);  // first, with any compiler
    const ValueId y = b_.add(made, scaled(x, beta));
    CLEAVE_CHECK(b_.status());
    return y;
  }

 private:
  bool pays(NodeId n) const {
    const Node& node = g_.node(n);
    const Type& y = g_.type(node.out(0));
    if (y.dtype != DType::f32 && y.dtype != DType::f64) return false;
    const ValueId x = node.inputs[0], w = node.inputs[1], v = node.inputs[2];
    return !is_frozen(x) && is_frozen(w) && is_frozen(v) && y.is_static() &&
           !grows(g_, {w, v}, {node.out(0)}) && g_.view(n).float_attr("beta") != 0;
  }
  bool is_frozen(ValueId v) const { return v.v < frozen_.size() && frozen_[v.v]; }  // else it's new
  ValueId scaled(ValueId v, double by) { return by == 1 ? v : b_.mul(v, by); }

  Graph& g_;
  Builder b_;
  const std::vector<bool> frozen_;
};

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  return change_with_bodies(g, [&](Graph& graph, std::vector<bool> frozen) {
    Apart apart(graph, ops, std::move(frozen));
    return replace_calls(graph, [&](NodeId n) { return apart.split(n); });
  });
}

}  // namespace

Pass unfuse_frozen() {
  return {.name = "unfuse_frozen",
          .summary = "products of frozen values leave the sums that were fused into them",
          .run = run,
          .outermost = true};
}

}  // namespace cleave
