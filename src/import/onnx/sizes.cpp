#include "import/onnx/sizes.h"

#include <algorithm>
#include <unordered_map>

namespace cleave::onnx {
namespace {

using Dims = std::vector<Dim>;

struct Sizes {
  Dims dims;
  bool scalar = false;
};
using Operands = std::vector<Sizes>;
using Fold = Result<std::optional<Sizes>> (*)(Call&, const Operands&);
using Folded = std::optional<Sizes>;

// f element by element; one number meets a list.
Folded each(const Operands& in, Dim (*f)(const Dim&, const Dim&)) {
  if (in.size() != 2) return std::nullopt;
  const size_t n = std::max(in[0].dims.size(), in[1].dims.size());
  Sizes out{{}, in[0].scalar && in[1].scalar};
  for (const Sizes& s : in)
    if (s.dims.size() != n && s.dims.size() != 1) return std::nullopt;
  for (size_t k = 0; k < n; ++k)
    out.dims.push_back(
        f(in[0].dims[in[0].dims.size() == 1 ? 0 : k], in[1].dims[in[1].dims.size() == 1 ? 0 : k]));
  return out;
}

std::optional<int64_t> number(const Sizes& s) {
  if (s.dims.size() != 1 || !s.dims[0].is_const()) return std::nullopt;
  return s.dims[0].value();
}

Result<Folded> add(Call&, const Operands& in) {
  return each(in, [](const Dim& a, const Dim& b) { return a + b; });
}
Result<Folded> sub(Call&, const Operands& in) {
  return each(in, [](const Dim& a, const Dim& b) { return a - b; });
}
Result<Folded> mul(Call&, const Operands& in) {
  return each(in, [](const Dim& a, const Dim& b) { return a * b; });
}
Result<Folded> smaller(Call&, const Operands& in) { return each(in, Dim::min); }
Result<Folded> larger(Call&, const Operands& in) { return each(in, Dim::max); }
// Rounded down, which is toward 0 for sizes.
Result<Folded> div(Call& c, const Operands& in) {
  for (const Dim& d : in.size() == 2 ? in[1].dims : Dims{})
    if (c.importer().graph().env().range_of(d).lo < 1) return Folded();
  for (const Dim& d : in[0].dims)
    if (c.importer().graph().env().range_of(d).lo < 0) return Folded();
  return each(in, Dim::floordiv);
}

Result<Folded> gather(Call& c, const Operands& in) {
  if (c.integer("axis") != 0 || in.size() != 2 || in[0].scalar) return Folded();
  Sizes out{{}, in[1].scalar};
  const int64_t n = static_cast<int64_t>(in[0].dims.size());
  for (const Dim& at : in[1].dims) {
    if (!at.is_const()) return Folded();
    CLEAVE_TRY(const int64_t k, c.axis(at.value(), n));
    out.dims.push_back(in[0].dims[static_cast<size_t>(k)]);
  }
  return Folded(out);
}

Result<Folded> concat(Call&, const Operands& in) {
  Sizes out;
  for (const Sizes& s : in) {
    if (s.scalar) return Folded();
    out.dims.insert(out.dims.end(), s.dims.begin(), s.dims.end());
  }
  return Folded(out);
}

// Sizes have at most one dim: what gives more, or is wrong, is left to the operator's rule.
Result<Folded> unsqueeze(Call& c, const Operands& in) {
  bool given = false;
  CLEAVE_TRY(const Ints axes, c.axes_of(1, 13, given));
  if (!in[0].scalar || axes.size() != 1 || axes[0] < -1 || axes[0] > 0) return Folded();
  return Folded(Sizes{in[0].dims, false});
}
Result<Folded> squeeze(Call& c, const Operands& in) {
  bool given = false;
  CLEAVE_TRY(const Ints axes, c.axes_of(1, 13, given));
  if (in[0].scalar || in[0].dims.size() != 1) return Folded();
  for (const int64_t axis : axes)
    if (axis < -1 || axis > 0) return Folded();
  const bool stays = given && axes.empty();
  return Folded(Sizes{in[0].dims, !stays});
}
Result<Folded> reshape(Call&, const Operands& in) {
  if (in.size() != 2 || in[1].scalar || in[1].dims.size() > 1) return Folded();
  const Dim count = static_cast<int64_t>(in[0].dims.size());
  const Dim wanted = in[1].dims.empty() ? Dim(1) : in[1].dims[0];
  if (!(wanted == count) && (in[1].dims.empty() || !(wanted == Dim(-1)))) return Folded();
  return Folded(Sizes{in[0].dims, in[1].dims.empty()});
}

Result<Folded> product(Call& c, const Operands& in) {
  bool given = false;
  CLEAVE_TRY(Ints axes, c.axes_of(1, 18, given));
  if (axes.empty() && c.integer("noop_with_empty_axes") != 0) return Folded(in[0]);
  CLEAVE_TRY(axes, c.axes(std::move(axes), in[0].scalar ? 0 : 1));
  Dim all = 1;
  for (const Dim& d : in[0].dims) all = all * d;
  return Folded(Sizes{{all}, c.integer("keepdims", 1) == 0 || in[0].scalar});
}

Result<Folded> slice(Call& c, const Operands& in) {
  if (c.version() < 10 || in.size() < 3 || in[0].scalar) return Folded();
  const auto start = number(in[1]), end = number(in[2]);
  const auto step = in.size() > 4 ? number(in[4]) : std::optional<int64_t>(1);
  const int64_t n = static_cast<int64_t>(in[0].dims.size());
  if (!start || !end || !step || *step < 1) return Folded();
  const auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + n : at, int64_t{0}, n); };
  Sizes out;
  for (int64_t k = place(*start); k < place(*end); k += *step)
    out.dims.push_back(in[0].dims[static_cast<size_t>(k)]);
  return Folded(out);
}

Result<Folded> cast(Call& c, const Operands& in) {
  if (c.integer("to") != static_cast<int64_t>(Element::i64)) return Folded();
  return Folded(in[0]);
}

// Comparisons that hold for all sizes in range, as a tensor of bools.
Result<bool> equal(Call& c, const Operands& in) {
  if (in.size() != 2) return false;
  const size_t n = std::max(in[0].dims.size(), in[1].dims.size());
  const bool scalar = in[0].scalar && in[1].scalar;
  HostTensor out(DType::boolean, scalar ? Ints{} : Ints{static_cast<int64_t>(n)});
  for (const Sizes& s : in)
    if (s.dims.size() != n && s.dims.size() != 1) return false;
  for (size_t k = 0; k < n; ++k) {
    const Dim& a = in[0].dims[in[0].dims.size() == 1 ? 0 : k];
    const Dim& b = in[1].dims[in[1].dims.size() == 1 ? 0 : k];
    const auto truth = c.importer().graph().env().equal(a, b);
    if (truth == SymEnv::Truth::unknown) return false;
    out.set_number(static_cast<int64_t>(k), truth == SymEnv::Truth::yes ? 1 : 0);
  }
  c.give(0, c.importer().constant("equal", std::move(out)));
  return true;
}

// One of two lists, by bools that are known.
Result<bool> where(Call& c) {
  const auto chosen = c.known(0);
  const auto a = c.known_dims(1), b = c.known_dims(2);
  if (!chosen || !a || !b || chosen->rank() > 1) return false;
  const size_t n = std::max({static_cast<size_t>(chosen->numel()), a->size(), b->size()});
  const auto at = [](const Dims& d, size_t k) { return d[d.size() == 1 ? 0 : k]; };
  Dims out;
  for (size_t k = 0; k < n; ++k) {
    const int64_t place = chosen->numel() == 1 ? 0 : static_cast<int64_t>(k);
    if (place >= chosen->numel() || (a->size() != 1 && k >= a->size()) ||
        (b->size() != 1 && k >= b->size()))
      return false;
    out.push_back(chosen->number(place) != 0 ? at(*a, k) : at(*b, k));
  }
  c.give(0, c.importer().sizes(std::move(out), c.rank(0) == 0 && c.rank(1) == 0 && c.rank(2) == 0));
  return true;
}

}  // namespace

Result<bool> fold_sizes(Call& c) {
  bool any = false;
  for (size_t k = 0; k < c.count(); ++k) any = any || (c.has(k) && c.value(k).dims);
  if (!any || !c.node().domain.empty()) return false;
  if (c.node().op == "Where") return where(c);
  Operands in;
  for (size_t k = 0; k < c.count(); ++k) {
    const auto d = c.known_dims(k);
    if (!d && c.has(k)) return false;
    in.push_back({d.value_or(Dims{}), c.rank(k) == 0});
  }
  if (c.node().op == "Equal") return equal(c, in);
  static const std::unordered_map<std::string, Fold> table = {
      {"Add", add},         {"Sub", sub},         {"Mul", mul},
      {"Div", div},         {"Min", smaller},     {"Max", larger},
      {"Gather", gather},   {"Concat", concat},   {"Unsqueeze", unsqueeze},
      {"Squeeze", squeeze}, {"Reshape", reshape}, {"ReduceProd", product},
      {"Slice", slice},     {"Cast", cast}};
  const auto fold = table.find(c.node().op);
  if (fold == table.end()) return false;
  CLEAVE_TRY(Folded out, fold->second(c, in));
  if (!out) return false;
  c.give(0, c.importer().sizes(std::move(out->dims), out->scalar));
  return true;
}

}  // namespace cleave::onnx
