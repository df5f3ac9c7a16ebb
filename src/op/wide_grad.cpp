#include "op/wide_grad.h"

#include <algorithm>

#include "ir/builder.h"

namespace cleave {
namespace {

bool is_narrow(const Type& t) { return wide(t.dtype) != t.dtype; }

// The call as the rule sees it; owns the types that the view points to.
class WideCall {
 public:
  WideCall(Builder& b, const GradView& op) {
    const size_t operands = op.inputs().size();
    types_.reserve(operands + static_cast<size_t>(op.out_count()));
    for (size_t k = 0; k < operands; ++k) {
      const ValueId v = op.inputs()[k];
      inputs_.push_back(v.valid() ? b.convert(v, wide(op.types()[k]->dtype)) : v);
      in_types_.push_back(v.valid() ? widened(*op.types()[k]) : nullptr);
      needs_.push_back(op.needs(static_cast<int>(k)));
    }
    for (int k = 0; k < op.out_count(); ++k) {
      const Type& t = op.out_type(k);
      const auto convert = [&](ValueId v) { return v.valid() ? b.convert(v, wide(t.dtype)) : v; };
      out_types_.push_back(widened(t));
      outs_.push_back(t.is_none ? op.out(k) : convert(op.out(k)));
      douts_.push_back(convert(op.dout(k)));
    }
  }
  GradView view(const GradView& op) const {
    return {OpView(op.def(), inputs_, in_types_, 0, op.attrs(), op.env(), out_types_), outs_,
            douts_, needs_};
  }

 private:
  const Type* widened(Type t) {
    t.dtype = wide(t.dtype);
    return &types_.emplace_back(std::move(t));
  }

  std::vector<Type> types_;
  Values inputs_, outs_, douts_;
  std::vector<const Type*> in_types_, out_types_;
  std::vector<bool> needs_;
};

}  // namespace

GradFn wide_grad(GradFn rule) {
  return [rule = std::move(rule)](Builder& b, const GradView& op) -> Values {
    const auto& types = op.types();
    if (std::none_of(types.begin(), types.end(), [](const Type* t) { return t && is_narrow(*t); }))
      return rule(b, op);
    const WideCall call(b, op);
    Values d = rule(b, call.view(op));
    for (size_t k = 0; k < d.size(); ++k)
      if (d[k].valid()) d[k] = b.convert(d[k], types[k]->dtype);
    return d;
  };
}

}  // namespace cleave
