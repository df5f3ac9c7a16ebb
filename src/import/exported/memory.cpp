#include "import/exported/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

bool is_behind_detach(const Tensor& t) {
  return std::ranges::find(t.steps, "detach", &ViewStep::op) != t.steps.end();
}

// The bits of `value` with the gradient of `old`: x - 0 is x for each x, -0 as well.
ValueId in_the_place_of(Builder& b, ValueId old, ValueId value) {
  const ValueId held = b.call1("detach", {old});
  const ValueId is_finite = b.lt(b.call1("abs", {held}), INFINITY);
  const ValueId nothing = b.where(is_finite, b.sub(held, old), 0.0);
  return b.sub(b.call1("detach", {value}), nothing);
}

constexpr const char* may_be_written =
    "a tensor is {} that may be a copy or a view of {} that was written; use clone() or view() in "
    "the model";

}  // namespace

Tensor Memories::add(ValueId value) {
  all_.push_back({.value = value, .is_stopped = gradients_ == Gradients::stopped});
  return {all_.size() - 1, {}, value, 0, next_id_++};
}

Tensor Memories::view(const Tensor& base, const std::vector<ViewStep>& steps, ValueId value) {
  if (steps.empty()) return base;
  Tensor t = base;
  t.steps.insert(t.steps.end(), steps.begin(), steps.end());
  t.value = value;
  t.version = all_[t.memory].version;
  t.id = next_id_++;
  return t;
}

Tensor Memories::copy_or_view(std::span<const Tensor> bases, ValueId value) {
  Tensor t = add(value);
  for (const Tensor& base : bases) {
    all_[t.memory].maybe_same.push_back(base.memory);
    all_[base.memory].maybe_same.push_back(t.memory);
  }
  return t;
}

Result<Tensor> Memories::detached(Builder& b, Tensor& t) {
  CLEAVE_TRY(const ValueId v, read(b, t));
  const ValueId shown = b.call1("detach", {v});
  CLEAVE_CHECK(b.status());
  return view(t, {{"detach", {}}}, shown);
}

Result<Tensor> Memories::out_of_region(Builder& b, Tensor& t, size_t first) {
  if (t.memory < first) return detached(b, t);
  Memory& m = all_[t.memory];
  m.is_stopped = false;
  if (paths_.reach(m.value)) {
    m.value = b.call1("detach", {m.value});
    ++m.version;
  }
  CLEAVE_CHECK(read(b, t));
  return t;
}

Result<ValueId> Memories::read(Builder& b, Tensor& t) {
  const Memory& m = all_[t.memory];
  if (m.is_unknown) return unsupported(may_be_written, "read", "one");
  if (t.version == m.version) return t.value;
  if (m.has_hidden && is_behind_detach(t))
    return unsupported(
        "a tensor is read behind detach() whose memory another one of its views wrote with a "
        "gradient; use detach().clone() in the model");
  ValueId v = m.value;
  for (const ViewStep& step : t.steps) v = apply(b, step, v);
  CLEAVE_CHECK(b.status());
  t.value = v;
  t.version = m.version;
  return v;
}

ValueId Memories::without_gradient(Builder& b, ValueId v) {
  return paths_.reach(v) ? b.call1("detach", {v}) : v;
}

Status Memories::write(Builder& b, Tensor& t, ValueId value) {
  Memory& m = all_[t.memory];
  if (m.is_unknown) return unsupported(may_be_written, "written", "another one");
  const bool is_stopped = gradients_ == Gradients::stopped, is_behind = is_behind_detach(t);
  if (is_stopped) value = without_gradient(b, value);
  std::vector<ValueId> shown = {m.value};
  for (size_t k = 0; k + 1 < t.steps.size(); ++k)
    shown.push_back(apply(b, t.steps[k], shown.back()));
  ValueId v = is_behind ? without_gradient(b, value) : value;
  CLEAVE_CHECK(b.status());
  const bool hides = v != value;
  for (size_t k = t.steps.size(); k-- > 0;) {
    CLEAVE_TRY(v, put_back(b, t.steps[k], shown[k], v));
    CLEAVE_CHECK(b.status());
  }
  const bool keeps = (is_stopped || is_behind) && !m.is_stopped && paths_.reach(m.value);
  m.value = keeps ? in_the_place_of(b, m.value, v) : v;
  CLEAVE_CHECK(b.status());
  ++m.version;
  m.has_hidden = m.has_hidden || hides;
  if (!keeps || hides) {  // else it is made again, with the gradient that it had
    t.value = value;
    t.version = m.version;
  }
  forget_others(t.memory);
  return {};
}

// All memories that may be this one, directly or by way of others.
void Memories::forget_others(size_t memory) {
  std::vector<size_t> next = all_[memory].maybe_same;
  while (!next.empty()) {
    const size_t other = next.back();
    next.pop_back();
    if (other == memory || std::exchange(all_[other].is_unknown, true)) continue;
    next.insert(next.end(), all_[other].maybe_same.begin(), all_[other].maybe_same.end());
  }
}

Result<ValueId> Memories::written(size_t memory) const {
  const Memory& m = all_[memory];
  if (m.is_unknown)
    return unsupported(
        "it may have been written by way of a tensor that is a copy or a view of "
        "it; use clone() or view() in the model");
  return m.version > 0 ? m.value : ValueId::none();
}

}  // namespace cleave::exported
