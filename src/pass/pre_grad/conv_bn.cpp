#include "pass/pre_grad/conv_bn.h"

#include <algorithm>

namespace cleave {
namespace {

const std::vector<std::string> conv_attrs = {"stride",     "padding",        "dilation",
                                             "transposed", "output_padding", "groups"};

bool is_read(const Graph& g, ValueId v) {
  return g.use_count(v) > 0 ||
         std::ranges::find(g.returns(), v, &Return::value) != g.returns().end();
}

bool fits(const Match& m) {
  const OpView conv = m.call("conv"), norm = m.call("norm");
  if (conv.bool_attr("transposed") && conv.int_attr("groups") != 1) return false;
  if (norm.def().schema.find("training") >= 0 && norm.bool_attr("training")) return false;
  const Values& out = m.outputs();
  return !is_read(m.graph(), out[1]) && !is_read(m.graph(), out[2]);
}

DType widest_dtype(const Match& m) {
  DType t = m.type("w").dtype;
  for (const char* name : {"weight", "bias", "mean", "var"})
    if (m.has(name)) t = promote(t, m.type(name).dtype);
  return t;
}

Values folded(Builder& b, const Match& m) {
  const OpView conv = m.call("conv");
  const DType t = widest_dtype(m), narrow = m.type("w").dtype;
  const auto wide = [&](const char* name) { return b.convert(m[name], t); };
  ValueId scale = b.rsqrt(b.add(wide("var"), m.call("norm").float_attr("eps")));
  if (m.has("weight")) scale = b.mul(wide("weight"), scale);
  ValueId shift = b.neg(b.mul(wide("mean"), scale));
  if (m.has("b")) {
    const ValueId offset = wide("b"), mean = wide("mean");
    shift = b.mul(b.sub(offset, mean), scale);
  }
  if (m.has("bias")) shift = b.add(shift, wide("bias"));

  Shape shape(m.type("w").shape.size(), Dim(1));
  shape[conv.bool_attr("transposed") ? 1 : 0] = m.type("var").shape[0];
  const ValueId weight = wide("w"), factor = b.view(scale, shape);
  const ValueId w = b.convert(b.mul(weight, factor), narrow);
  NamedAttrs attrs;
  for (const std::string& name : conv_attrs) attrs.emplace_back(name, conv.attr(name));
  Values out(m.outputs().size());
  out[0] = b.call1("convolution", {m["x"], w, b.convert(shift, narrow)}, std::move(attrs));
  if (out.size() == 5) {  // the running statistics are unchanged
    out[3] = m["mean"];
    out[4] = m["var"];
  }
  return out;
}

}  // namespace

std::vector<Rule> conv_bn_rules(std::function<bool(const Match&)> when) {
  AttrTests attrs;
  for (const std::string& name : conv_attrs) attrs.emplace_back(name, anything());
  const Pattern conv =
      call("convolution", {any("x"), any("w"), optional(any("b"))}, attrs).named("conv");
  const std::vector<Pattern> operands = {conv, optional(any("weight")), optional(any("bias")),
                                         any("mean"), any("var")};
  std::vector<Rule> rules;
  for (const char* op : {"_native_batch_norm_legit_no_training", "_native_batch_norm_legit",
                         "_native_batch_norm_legit_functional"}) {
    AttrTests tests = {{"momentum", anything()}, {"eps", anything()}};
    if (!std::string_view(op).ends_with("no_training")) tests.emplace_back("training", anything());
    rules.push_back({.name = op,
                     .search = {results(call(op, operands, tests).named("norm"))},
                     .when = [when](const Match& m) { return fits(m) && when(m); },
                     .build = folded,
                     .rounds = true});
  }
  return rules;
}

}  // namespace cleave
