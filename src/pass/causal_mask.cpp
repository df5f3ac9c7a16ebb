#include "pass/causal_mask.h"

#include <cmath>
#include <optional>

#include "ir/op_view.h"

namespace cleave {
namespace {

// row * i + column * j + constant; a predicate holds if that is at least 0.
struct IndexForm {
  int64_t row = 0, column = 0, constant = 0;
  bool is_predicate = false;
};

constexpr int max_depth = 12;

IndexForm scaled(IndexForm f, int64_t by) { return {by * f.row, by * f.column, by * f.constant}; }
IndexForm sum(const IndexForm& a, const IndexForm& b) {
  return {a.row + b.row, a.column + b.column, a.constant + b.constant};
}

class FormReader {
 public:
  explicit FormReader(const Graph& g) : g_(g) {}

  std::optional<IndexForm> read(ValueId v, int depth = 0) const {
    const NodeId n = v.valid() ? g_.value(v).def : NodeId{};
    if (!n.valid() || depth > max_depth) return std::nullopt;
    const OpView op = g_.view(n);
    const std::string& name = op.name();
    if (name == "arange") return read_arange(op);
    if (name == "full" || name == "scalar_tensor") return read_constant(op);
    if (name == "_to_copy" || name == "alias" || name == "clone" || name == "detach")
      return read(op.in(0), depth + 1);
    if (name == "view" || name == "reshape" || name == "unsqueeze" || name == "expand")
      return read_view(op, depth);
    if (name == "logical_not") {
      std::optional<IndexForm> f = read(op.in(0), depth + 1);
      if (!f || !f->is_predicate) return std::nullopt;
      return predicate(sum(scaled(*f, -1), {0, 0, -1}));
    }
    if (name == "logical_and" || name == "bitwise_and") return read_and(op, depth);
    return read_arithmetic(op, depth);
  }

 private:
  static IndexForm predicate(IndexForm f) {
    f.is_predicate = true;
    return f;
  }

  static std::optional<IndexForm> read_arange(const OpView& op) {
    const int64_t step = op.given("step") ? op.int_attr("step") : 1;
    const int64_t start = op.given("start") ? op.int_attr("start") : 0;
    return IndexForm{0, step, start};  // along the last dim
  }

  static std::optional<IndexForm> read_constant(const OpView& op) {
    const AttrValue& value = op.attr(op.name() == "full" ? "fill_value" : "s");
    if (const bool* b = value.get<bool>()) return predicate({0, 0, *b ? 0 : -1});
    const double d = value.as_double();
    if (d != std::floor(d) || std::fabs(d) > 1e15) return std::nullopt;
    return IndexForm{0, 0, static_cast<int64_t>(d)};
  }

  // A vector along the columns is transposed to the rows, or dims of size 1 are inserted around it.
  std::optional<IndexForm> read_view(const OpView& op, int depth) const {
    std::optional<IndexForm> f = read(op.in(0), depth + 1);
    if (!f) return f;
    const Shape &from = op.in_type(0).shape, &to = op.out_type(0).shape;
    const auto last = [](const Shape& s, size_t k) {
      return s.size() >= k ? s[s.size() - k] : Dim(1);
    };
    if (op.name() == "expand") return f;
    if (last(from, 1) == last(to, 1) && last(from, 2) == last(to, 2)) return f;
    const bool is_turned = last(to, 1) == Dim(1) && last(to, 2) == last(from, 1) &&
                           last(from, 2) == Dim(1) && f->row == 0;
    if (!is_turned) return std::nullopt;
    return IndexForm{f->column, 0, f->constant, f->is_predicate};
  }

  std::optional<IndexForm> read_and(const OpView& op, int depth) const {
    const auto a = read(op.in(0), depth + 1), b = read(op.in(1), depth + 1);
    if (!a || !b || !a->is_predicate || !b->is_predicate) return std::nullopt;
    const auto is_true = [](const IndexForm& f) {
      return f.row == 0 && f.column == 0 && f.constant >= 0;
    };
    return is_true(*a) ? b : is_true(*b) ? a : std::nullopt;
  }

  std::optional<IndexForm> operand(const OpView& op, int k, int depth) const {
    if (!op.is_number(k)) return read(op.in(k), depth + 1);
    const double d = op.number(k).as_double();
    if (d != std::floor(d) || std::fabs(d) > 1e15) return std::nullopt;
    return IndexForm{0, 0, static_cast<int64_t>(d)};
  }

  std::optional<IndexForm> read_arithmetic(const OpView& op, int depth) const {
    const std::string& name = op.name();
    const bool is_sum = name == "add" || name == "sub";
    const bool compares = name == "le" || name == "lt" || name == "ge" || name == "gt";
    if (!is_sum && !compares) return std::nullopt;
    if (is_sum && op.attr("alpha").as_double() != 1) return std::nullopt;
    const auto a = operand(op, 0, depth), b = operand(op, 1, depth);
    if (!a || !b || a->is_predicate || b->is_predicate) return std::nullopt;
    if (name == "add") return sum(*a, *b);
    const IndexForm less = sum(*a, scaled(*b, -1));  // a - b
    if (name == "sub") return less;
    if (name == "ge") return predicate(less);
    if (name == "gt") return predicate(sum(less, {0, 0, -1}));
    if (name == "le") return predicate(scaled(less, -1));
    return predicate(sum(scaled(less, -1), {0, 0, -1}));  // lt
  }

  const Graph& g_;
};

bool is_filled(const Graph& g, ValueId v, double number) {
  const NodeId n = v.valid() ? g.value(v).def : NodeId{};
  if (!n.valid()) return false;
  const OpView op = g.view(n);
  if (op.name() == "full" || op.name() == "full_like")
    return op.attr("fill_value").as_double() == number;
  return op.name() == "scalar_tensor" && op.attr("s").as_double() == number;
}

bool is_number(const OpView& op, int k, const Graph& g, double number) {
  return op.is_number(k) ? op.number(k).as_double() == number : is_filled(g, op.in(k), number);
}

}  // namespace

bool is_causal_mask(const Graph& g, ValueId mask, bool opens) {
  const NodeId n = mask.valid() ? g.value(mask).def : NodeId{};
  if (!n.valid()) return false;
  const OpView op = g.view(n);
  ValueId condition = mask;
  if (op.name() == "where") {
    if (is_number(op, 1, g, 0) && is_number(op, 2, g, -HUGE_VAL))
      opens = true;
    else if (is_number(op, 1, g, -HUGE_VAL) && is_number(op, 2, g, 0))
      opens = false;
    else
      return false;
    condition = op.in(0);
  } else if (g.type(mask).dtype != DType::boolean) {
    return false;
  }
  std::optional<IndexForm> f = FormReader(g).read(condition);
  if (!f || !f->is_predicate) return false;
  if (!opens) f = sum(scaled(*f, -1), {0, 0, -1});  // not (f >= 0)
  return f->row > 0 && f->column == -f->row && f->constant >= 0 && f->constant < f->row;
}

}  // namespace cleave
