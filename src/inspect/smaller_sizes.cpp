#include "inspect/smaller_sizes.h"

#include <algorithm>
#include <set>

#include "ir/rebuild.h"

namespace cleave {
namespace {

// Strides are dense, in the order of the old ones; what was repeated is repeated.
class Dense : public Rebuilding {
 public:
  std::vector<Dim> strides(const std::vector<Dim>& old, const Shape& shape) override {
    std::vector<size_t> order;
    for (size_t k = 0; k < old.size(); ++k) {
      if (!old[k].is_const() || !shape[k].is_const()) return old;
      order.push_back(k);
    }
    std::ranges::stable_sort(order, {}, [&](size_t k) { return old[k].value(); });
    std::vector<Dim> out = old;
    Dim next(1);
    for (const size_t k : order) {
      if (old[k].value() == 0) continue;
      out[k] = next;
      next = next * shape[k];
    }
    return out;
  }
};

class ByNumber : public Dense {
 public:
  ByNumber(int64_t from, int64_t to, AlongWith with) : from_(from), to_(to), with_(with) {}

  Dim size(const Dim& d) override {
    if (!d.is_const()) return d;
    if (d.value() == from_) return to_;
    const bool scales =
        with_ == AlongWith::multiples && d.value() > from_ && d.value() % from_ == 0;
    return scales ? Dim(d.value() / from_ * to_) : d;
  }
  Dim number(const ArgDef& of, const Dim& d) override {
    const bool is_size = of.symbolic || of.name == "normalized_shape";
    return is_size && with_ != AlongWith::nothing ? size(d) : d;
  }

 private:
  const int64_t from_, to_;
  const AlongWith with_;
};

class ByPlace : public Dense {
 public:
  ByPlace(const Graph& g, size_t k, size_t dim, int64_t to) : g_(&g), k_(k), dim_(dim), to_(to) {}

  Dim size_of(const Graph& g, size_t k, size_t dim, const Dim& d) override {
    return &g == g_ && k == k_ && dim == dim_ ? Dim(to_) : d;
  }

 private:
  const Graph* const g_;
  const size_t k_, dim_;
  const int64_t to_;
};

// The leading part of `a`.
Array leading(const Array& a, const std::vector<int64_t>& shape) {
  Array out(a.dtype, shape);
  if (out.numel() == 0) return out;
  std::vector<int64_t> index(shape.size());
  int64_t to = 0;
  do {
    int64_t at = 0;
    for (size_t k = 0; k < index.size(); ++k) at = at * a.shape[k] + index[k];
    if (a.floating())
      out.f[static_cast<size_t>(to++)] = a.f[static_cast<size_t>(at)];
    else
      out.i[static_cast<size_t>(to++)] = a.i[static_cast<size_t>(at)];
  } while (next_index(index, shape));
  return out;
}

void keep_indices_inside(Array& a, int64_t from, int64_t to) {
  if (a.floating() || a.dtype == DType::boolean) return;
  if (!std::ranges::all_of(a.i, [&](int64_t v) { return v >= 0 && v < from; })) return;
  for (int64_t& v : a.i) v %= to;
}

std::optional<GivenGraph> made_by(Rebuilding& how, const GivenGraph& given, int64_t from,
                                  int64_t to) {
  Result<Graph> made = rebuilt(given.g, how);
  if (!made.ok()) return std::nullopt;
  GivenGraph out{*std::move(made), {}, given.symbols};
  for (size_t k = 0; k < given.inputs.size(); ++k) {
    const Type& type = out.g.type(out.g.placeholders()[k].value);
    std::vector<int64_t> shape;
    for (const Dim& d : type.shape) {
      const std::optional<int64_t> size = d.eval([&](const std::string& name) {
        const auto at = given.symbols.find(name);
        return at == given.symbols.end() ? std::optional<int64_t>() : at->second;
      });
      if (!size) return std::nullopt;
      shape.push_back(*size);
    }
    out.inputs.push_back(leading(given.inputs[k], shape));
    if (out.g.placeholders()[k].role != Role::rng_state)
      keep_indices_inside(out.inputs.back(), from, to);
  }
  return out;
}

}  // namespace

std::vector<int64_t> sizes_of_inputs(const Graph& g) {
  std::set<int64_t, std::greater<>> sizes;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role == Role::rng_state || p.role == Role::symint) continue;
    for (const Dim& d : g.type(p.value).shape)
      if (d.is_const() && d.value() > 1) sizes.insert(d.value());
  }
  return {sizes.begin(), sizes.end()};
}

std::optional<GivenGraph> with_size(const GivenGraph& given, int64_t from, int64_t to,
                                    AlongWith with) {
  ByNumber how(from, to, with);
  return made_by(how, given, from, to);
}

std::optional<GivenGraph> with_dim(const GivenGraph& given, size_t k, size_t dim, int64_t to) {
  ByPlace how(given.g, k, dim, to);
  const Dim& from = given.g.type(given.g.placeholders()[k].value).shape[dim];
  return made_by(how, given, from.value(), to);
}

}  // namespace cleave
