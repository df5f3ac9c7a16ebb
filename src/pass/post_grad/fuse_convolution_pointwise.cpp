// A convolution adds another value and cuts off negative numbers as it writes its result.
//
//   add(convolution(x, w, b), other)   ->  convolution_pointwise(x, w, b, other)
//   relu(convolution(x, w, b))         ->  convolution_pointwise(x, w, b; relu=true)
//   relu(add(convolution(..), other))  ->  one call, by one rule after the other
//
// In f32, not transposed; other has the type of the result. The convolution has no other user. It
// may be a convolution_pointwise that does neither yet (pack_weights). Bits are the same; passes
// over the result are saved.
// Source: mkldnn_fusion.py, PyTorch 2.13.
#include "op/convolution.h"
#include "pass/passes.h"
#include "pass/replace_calls.h"

namespace cleave {
namespace {

class Fusion {
 public:
  Fusion(Graph& g, const OpRegistry& ops) : g_(g), b_(g, ops) {}

  // What stands for the call; none if it stays.
  Result<ValueId> fused(NodeId n) {
    const OpView call = g_.view(n);
    b_.insert_before(n);
    b_.set_loc(g_.node(n).loc);
    b_.set_tag(g_.node(n).tag);
    ValueId made = ValueId::none();
    if (call.name() == "relu") made = joined(n, call.in(0), ValueId::none());
    if (call.name() == "add" && is_plain_sum(call)) {
      made = joined(n, call.in(0), call.in(1));
      if (made.is_none()) made = joined(n, call.in(1), call.in(0));
    }
    CLEAVE_CHECK(b_.status());
    return made;
  }

 private:
  static bool is_plain_sum(const OpView& call) {
    return call.float_attr("alpha") == 1 && has_type_of_result(call, 0) &&
           has_type_of_result(call, 1);
  }
  static bool has_type_of_result(const OpView& call, int k) {
    if (!call.has(k) || call.is_number(k)) return false;
    const Type &t = call.in_type(k), &y = call.out_type(0);
    return t.dtype == y.dtype && t.shape == y.shape && t.device == y.device;
  }

  // Call n is relu, or a sum with `other`, of y.
  ValueId joined(NodeId n, ValueId y, ValueId other) {
    const NodeId def = g_.value(y).def;
    if (!def.valid() || g_.use_count(y) != 1 || other == y) return ValueId::none();
    const OpView made_by = g_.view(def);
    const bool is_pointwise = made_by.name() == "convolution_pointwise";
    if (!is_pointwise && made_by.name() != "convolution") return ValueId::none();
    const Type& t = made_by.out_type(0);
    if (t.dtype != DType::f32 || !t.is_static() || made_by.bool_attr("transposed"))
      return ValueId::none();
    const bool adds = other.valid();
    if (is_pointwise && (made_by.bool_attr("relu") || (adds && made_by.has(3))))
      return ValueId::none();
    if (g_.node(def).tag != g_.node(n).tag) return ValueId::none();
    NamedAttrs attrs = {{"packed_size", is_pointwise ? made_by.attr("packed_size") : AttrList{}},
                        {"relu", !adds}};
    for (const char* name : convolution_attr_names) attrs.emplace_back(name, made_by.attr(name));
    const auto operand = [&](int k) { return made_by.has(k) ? made_by.in(k) : ValueId::none(); };
    if (!adds && is_pointwise) other = operand(3);
    return b_.call1("convolution_pointwise", {operand(0), operand(1), operand(2), other},
                    std::move(attrs));
  }

  Graph& g_;
  Builder b_;
};

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  Fusion fusion(g, ops);
  return replace_calls(g, [&](NodeId n) { return fusion.fused(n); });
}

}  // namespace

Pass fuse_convolution_pointwise() {
  return {.name = "fuse_convolution_pointwise",
          .summary = "a convolution adds another value and cuts off negative numbers as it writes",
          .run = run};
}

}  // namespace cleave
