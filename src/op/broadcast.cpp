#include "op/broadcast.h"

#include <algorithm>

#include "ir/host_operands.h"

namespace cleave {
namespace {

bool is_one(const OpView& op, const Dim& d) { return op.env().provably_equal(d, Dim(1)); }

}  // namespace

Result<Shape> broadcast_shapes(const OpView& op, std::string_view rule, const Shape& a,
                               const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t k = 0; k < shorter.size(); ++k) {
    Dim& into = out[lead + k];
    const Dim& other = shorter[k];
    const auto same = op.env().equal(into, other);
    if (same == SymEnv::Truth::yes || is_one(op, other)) continue;
    if (is_one(op, into)) {
      into = other;
      continue;
    }
    const auto from_right = static_cast<int64_t>(shorter.size() - k);
    const char* expected = same == SymEnv::Truth::no && into.is_const() && other.is_const()
                               ? "expected equal sizes or 1"
                               : "which can't be proven equal or 1";
    return op.broken(rule, "shapes {} and {} don't broadcast: dim -{} is {} and {}, {}",
                     shape_text(a), shape_text(b), from_right, a[a.size() - from_right].text(),
                     b[b.size() - from_right].text(), expected);
  }
  return out;
}

Result<Shape> broadcast_operands(const OpView& op, std::string_view rule,
                                 std::initializer_list<int> operands) {
  Shape out;
  bool first = true;
  for (int k : operands) {
    if (!op.has(k)) continue;
    if (first) {
      out = op.in_type(k).shape;
    } else {
      CLEAVE_TRY(out, broadcast_shapes(op, rule, out, op.in_type(k).shape));
    }
    first = false;
  }
  return out;
}

Status check_expandable(const OpView& op, std::string_view rule, const Shape& from,
                        const Shape& to) {
  const bool fits = from.size() <= to.size();
  if (fits) {
    CLEAVE_TRY(const Shape both, broadcast_shapes(op, rule, from, to));
    const bool exact =
        std::equal(both.begin(), both.end(), to.begin(), to.end(),
                   [&](const Dim& a, const Dim& b) { return op.env().provably_equal(a, b); });
    if (exact) return {};
  }
  return op.broken(rule, "shape {} doesn't broadcast to {}, expected dims that are equal or 1",
                   shape_text(from), shape_text(to));
}

Result<Device> common_device(const OpView& op, std::string_view rule,
                             std::initializer_list<int> operands) {
  std::optional<int> found;
  bool movable = false;  // found on a 0-d CPU tensor so far
  const auto name = [&](int k) { return input_name(op, static_cast<size_t>(op.flat(k))); };
  for (int k : operands) {
    if (!op.has(k)) continue;
    const Type& t = op.in_type(k);
    const bool scalar = t.rank() == 0 && t.device.kind == DeviceKind::cpu;
    if (!found || movable) {
      found = k;
      movable = scalar;
    } else if (!scalar && t.device != op.in_type(*found).device) {
      return op.broken(rule, "{} is {} and {} is {}, expected one device", name(*found),
                       op.in_type(*found).text(), name(k), t.text());
    }
  }
  return found ? op.in_type(*found).device : Device{};
}

}  // namespace cleave
