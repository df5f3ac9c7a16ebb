#include "train/nonfinite.h"

#include <cmath>

#include "ir/print.h"
#include "ir/text.h"

namespace cleave {
namespace {

// The first element of a tensor for which `is` holds; -1 if there is none.
template <class Is>
int64_t first_element(const HostTensor& t, const Is& is) {
  for (int64_t k = 0; k < t.numel(); ++k)
    if (is(t.number(k))) return k;
  return -1;
}

std::string index_text(const std::vector<int64_t>& shape, int64_t k) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; k /= shape[d]) index[d] = k % shape[d];
  return fmt::format("[{}]", fmt::join(index, ","));
}

// The sign of a NaN means nothing.
std::string value_text(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }

std::string at_text(const HostTensor& t, int64_t k) {
  const std::string value = value_text(t.number(k));
  return t.rank() == 0 ? value : fmt::format("{} at {}", value, index_text(t.shape(), k));
}

class Search {
 public:
  Search(const BoundProgram& program, const Values& checked)
      : g_(program.traced()), checked_(checked) {
    std::vector<bool> wanted = ancestors();
    for (const Placeholder& p : g_.placeholders()) want(p.value, wanted);
    for (const NodeId n : g_.order())
      for (uint32_t k = 0; k < g_.node(n).output_count; ++k) want(g_.node(n).out(k), wanted);
  }

  // Floating values that lead to what is checked, in the order of the program.
  const Values& values() const { return values_; }

  std::string explain(const HostTensors& tensors) {
    for (size_t k = 0; k < values_.size(); ++k) tensor_[values_[k]] = &tensors[k];
    const Values from = sinks();
    if (from.empty())
      return "computed call by call all values are finite: sums in another order exceed the range";
    const std::vector<bool> on_path = path_to(from);
    std::string text = fmt::format("the {} is {}", name_of_sink(from[0]),
                                   at_text(*tensor_.at(from[0]), bad_at(from[0])));
    ValueId first, first_nan;
    for (const ValueId v : values_) {
      if (!on_path[v.v]) continue;
      if (!first.valid()) first = v;
      if (!first_nan.valid() && nan_at(v) >= 0) first_nan = v;
    }
    text += "; the first value that isn't finite is " + place_text(first, bad_at(first));
    if (first_nan.valid() && first_nan != first)
      text += "\nthe first nan is " + place_text(first_nan, nan_at(first_nan));
    return text;
  }

 private:
  std::vector<bool> ancestors() const {
    std::vector<bool> out(g_.value_capacity());
    Values open = checked_;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (!v.valid() || out[v.v]) continue;
      out[v.v] = true;
      if (const NodeId n = g_.value(v).def; n.valid())
        for (const ValueId in : g_.node(n).inputs) open.push_back(in);
    }
    return out;
  }

  void want(ValueId v, const std::vector<bool>& wanted) {
    const Type& t = g_.type(v);
    if (wanted[v.v] && !t.is_none && is_floating(t.dtype)) values_.push_back(v);
  }

  int64_t bad_at(ValueId v) const {
    const auto t = tensor_.find(v);
    if (t == tensor_.end()) return -1;
    return first_element(*t->second, [](double x) { return !std::isfinite(x); });
  }
  int64_t nan_at(ValueId v) const {
    return first_element(*tensor_.at(v), [](double x) { return std::isnan(x); });
  }

  // The loss; else the gradients; else their norm.
  Values sinks() const {
    if (bad_at(checked_.front()) >= 0) return {checked_.front()};
    Values out;
    for (const ValueId v : checked_)
      if (v != checked_.back() && bad_at(v) >= 0) out.push_back(v);
    if (out.empty() && bad_at(checked_.back()) >= 0) out.push_back(checked_.back());
    return out;
  }

  std::vector<bool> path_to(const Values& from) const {
    std::vector<bool> out(g_.value_capacity());
    Values open = from;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (!v.valid() || out[v.v] || bad_at(v) < 0) continue;
      out[v.v] = true;
      if (const NodeId n = g_.value(v).def; n.valid())
        for (const ValueId in : g_.node(n).inputs) open.push_back(in);
    }
    return out;
  }

  std::string name_of_sink(ValueId v) const {
    if (v == checked_.front()) return "loss";
    if (v == checked_.back()) return "norm of the gradients";
    return fmt::format("gradient %{}", g_.name(v));
  }

  std::string place_text(ValueId v, int64_t k) const {
    const std::string text = fmt::format("%{}, {}", g_.name(v), at_text(*tensor_.at(v), k));
    if (const NodeId n = g_.value(v).def; n.valid()) return text + ":\n  " + print_node(g_, n);
    return text + fmt::format(": {} {}", name_of(g_.placeholder_of(v)->role), g_.type(v).text());
  }

  const Graph& g_;
  const Values& checked_;
  Values values_;
  std::map<ValueId, const HostTensor*> tensor_;
};

}  // namespace

Failure nonfinite_failure(const BoundProgram& program, const Values& checked) {
  Search search(program, checked);
  const Result<HostTensors> tensors = program.recompute(search.values());
  if (!tensors.ok())
    return user_error(
        "train_step: the loss or a gradient is not finite (which value is the first "
        "can't be told: {})",
        tensors.failure().message);
  return user_error("train_step: {}", search.explain(*tensors));
}

}  // namespace cleave
