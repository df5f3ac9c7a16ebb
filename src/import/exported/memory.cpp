#include "import/exported/memory.h"

namespace cleave::exported {
namespace {

ValueId apply(Builder& b, const ViewStep& step, ValueId x) {
  return x.valid() ? b.call1(step.op, {x}, step.attrs) : x;
}

// What x is, of which `step` shows `shown`, when that becomes `value`.
Result<ValueId> put_back(Builder& b, const ViewStep& step, ValueId x, ValueId value) {
  const std::string& op = step.op;
  if (op == "alias" || op == "detach") return value;
  if (op == "view" || op == "_unsafe_view" || op == "reshape" || op == "squeeze" ||
      op == "unsqueeze")
    return b.view(value, b.type(x).shape);
  if (op == "transpose" || op == "t") return apply(b, step, value);
  if (op == "select" || op == "slice" || op == "diagonal")
    return b.call1(op + "_scatter", {x, value}, step.attrs);
  if (op == "permute") {
    std::vector<int64_t> back(static_cast<size_t>(b.type(x).rank()));
    const AttrList* dims = step.attrs.empty() ? nullptr : step.attrs[0].second.get<AttrList>();
    if (!dims || dims->size() != back.size()) return bug("permute has no dims");
    for (size_t k = 0; k < back.size(); ++k) {
      const Dim* d = (*dims)[k].get<Dim>();
      const auto rank = static_cast<int64_t>(back.size());
      const int64_t at = d && d->is_const() ? d->value() + (d->value() < 0 ? rank : 0) : -1;
      if (at < 0 || at >= rank) return user_error("permute: dim {} of rank {}", at, rank);
      back[static_cast<size_t>(at)] = static_cast<int64_t>(k);
    }
    return b.permute(value, back);
  }
  return unsupported("a write through a view by {}", op);
}

}  // namespace

Tensor Memories::add(ValueId value) {
  all_.push_back({value});
  return {all_.size() - 1, {}, value, 0};
}

Tensor Memories::view(const Tensor& base, const std::vector<ViewStep>& steps, ValueId value) const {
  Tensor t = base;
  t.steps.insert(t.steps.end(), steps.begin(), steps.end());
  t.value = value;
  t.version = all_[t.memory].version;
  return t;
}

Tensor Memories::copy_or_view(const Tensor& base, ValueId value) {
  Tensor t = add(value);
  all_[t.memory].maybe_same.push_back(base.memory);
  all_[base.memory].maybe_same.push_back(t.memory);
  return t;
}

Result<ValueId> Memories::read(Builder& b, Tensor& t) {
  const Memory& m = all_[t.memory];
  if (m.is_unknown)
    return unsupported(
        "a tensor is read that may be a copy or a view of one that was written; use "
        "clone() or view() in the model");
  if (t.version == m.version) return t.value;
  ValueId v = m.value;
  for (const ViewStep& step : t.steps) v = apply(b, step, v);
  CLEAVE_CHECK(b.status());
  t.value = v;
  t.version = m.version;
  return v;
}

Status Memories::write(Builder& b, Tensor& t, ValueId value) {
  Memory& m = all_[t.memory];
  if (m.is_unknown)
    return unsupported(
        "a tensor is written that may be a copy or a view of another one that was; "
        "use clone() or view() in the model");
  std::vector<ValueId> shown = {m.value};
  for (size_t k = 0; k + 1 < t.steps.size(); ++k)
    shown.push_back(apply(b, t.steps[k], shown.back()));
  CLEAVE_CHECK(b.status());
  ValueId v = value;
  for (size_t k = t.steps.size(); k-- > 0;) {
    CLEAVE_TRY(v, put_back(b, t.steps[k], shown[k], v));
    CLEAVE_CHECK(b.status());
  }
  m.value = v;
  ++m.version;
  t.value = value;
  t.version = m.version;
  for (const size_t other : m.maybe_same) all_[other].is_unknown = true;
  return {};
}

}  // namespace cleave::exported
