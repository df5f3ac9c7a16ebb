#include "pass/index_form.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "loop/lower_rule.h"
#include "loop/reshape_layout.h"

namespace cleave {
namespace {

using Form = std::optional<Layout>;

constexpr double limit = 0x1p52;

// The least and the greatest number; infinite beyond the limit.
struct Bounds {
  double lo, hi;
};

Bounds bounds_of(const Layout& form) {
  Bounds b{static_cast<double>(form.offset), static_cast<double>(form.offset)};
  for (size_t d = 0; d < form.shape.size(); ++d) {
    const double way =
        static_cast<double>(form.strides[d]) * static_cast<double>(form.shape[d] - 1);
    (way < 0 ? b.lo : b.hi) += way;
  }
  return b;
}

// Up to which the dtype holds every whole number; 0: it isn't read.
double exact_up_to(DType t) {
  switch (t) {
    case DType::i64:
    case DType::f64:
    case DType::boolean: return limit;
    case DType::i32: return 0x1p31 - 1;
    case DType::f32: return 0x1p24;
    default: return 0;
  }
}

bool is_within_limit(int64_t a, int64_t b) {
  return std::abs(static_cast<double>(a) * static_cast<double>(b)) <= limit;
}

// With stride 0 along dims of size 1; none beyond what the dtype holds.
Form checked(Layout form, DType t) {
  for (size_t d = 0; d < form.shape.size(); ++d)
    if (form.shape[d] == 1) form.strides[d] = 0;
  const Bounds b = bounds_of(form);
  const double most = exact_up_to(t);
  return std::max(-b.lo, b.hi) <= most ? Form(std::move(form)) : Form();
}

Layout constant(std::vector<int64_t> shape, int64_t number) {
  std::vector<int64_t> strides(shape.size(), 0);
  return {std::move(shape), std::move(strides), number};
}

std::optional<int64_t> whole(const AttrValue& v) {
  if (!v.is_number() || (v.get<Dim>() && !v.get<Dim>()->is_const())) return {};
  const double d = v.as_double();
  return d == std::floor(d) && std::abs(d) <= limit ? std::optional(static_cast<int64_t>(d))
                                                    : std::nullopt;
}

Layout broadcast(const Layout& form, const std::vector<int64_t>& shape) {
  Layout out = constant(shape, form.offset);
  const size_t more = shape.size() - form.shape.size();
  for (size_t d = 0; d < form.shape.size(); ++d) out.strides[more + d] = form.strides[d];
  return out;
}

// a * x + b * y + c; none where a product is beyond the limit.
Form combined(const Layout& x, int64_t a, const Layout& y, int64_t b, int64_t c = 0) {
  Layout out = x;
  const auto sum = [&](int64_t of_x, int64_t of_y) {
    const bool is_small = is_within_limit(a, of_x) && is_within_limit(b, of_y);
    return is_small ? std::optional(a * of_x + b * of_y) : std::nullopt;
  };
  const auto offset = sum(x.offset, y.offset);
  if (!offset) return {};
  out.offset = *offset + c;
  for (size_t d = 0; d < out.strides.size(); ++d) {
    const auto stride = sum(x.strides[d], y.strides[d]);
    if (!stride) return {};
    out.strides[d] = *stride;
  }
  return out;
}

Form negated(const Layout& x, int64_t c = 0) { return combined(x, -1, constant(x.shape, 0), 0, c); }

class FormRules {
 public:
  FormRules(const OpView& op, int k, const OperandForm& operand)
      : op_(op), k_(k), operand_(operand), shape_(static_shape(op.out_type(k))) {}

  Form run() const {
    const std::string& name = op_.name();
    const bool is_bool = op_.out_type(k_).dtype == DType::boolean;
    if (name == "as_strided") return {};  // by positions in memory
    if (const loop::ViewRule* view = view_rule()) {
      const Form in = operand_(0);
      return in ? view->layout(op_, *in, k_) : Form();
    }
    if (name == "arange") return positions();
    if (name == "clone" || name == "lift_fresh_copy" || name == "reshape" ||
        name == "_unsafe_view" || name == "_to_copy")
      return copied();
    if (name == "flip") return flipped();
    if (name == "cat") return joined();
    if (name == "cumsum") return counted();
    if (name == "index") return looked_up();
    if (name == "add" || name == "sub" || name == "rsub" || name == "mul") return computed();
    if (name == "bitwise_not" || name == "neg" || (name == "logical_not" && of_bools())) {
      const Form x = operand_(0);
      return x ? negated(*x, name == "neg" ? 0 : -1) : Form();
    }
    if (is_bool && of_bools() && (name == "logical_and" || name == "bitwise_and"))
      return decided(false);
    if (is_bool && of_bools() && (name == "logical_or" || name == "bitwise_or"))
      return decided(true);
    return is_bool && of_numbers() ? compared() : Form();
  }

 private:
  const loop::ViewRule* view_rule() const {
    const auto& lower = op_.def().lower;
    return lower.present() ? std::get_if<loop::ViewRule>(&(*lower)->form) : nullptr;
  }

  bool of_bools() const { return has_operands(true); }
  // Of one dtype: others are converted, which may round.
  bool of_numbers() const {
    const Type* first = nullptr;
    return has_operands(false) && std::ranges::all_of(op_.types(), [&](const Type* t) {
             if (t != nullptr && first == nullptr) first = t;
             return t == nullptr || t->dtype == first->dtype;
           });
  }
  bool has_operands(bool are_bools) const {
    return std::ranges::all_of(op_.types(), [&](const Type* t) {
      return t == nullptr || (t->dtype == DType::boolean) == are_bools;
    });
  }

  // Operand 0 or 1 in the shape of the result.
  Form arranged(int operand) const {
    if (!op_.is_number(operand)) {
      const Form x = operand_(op_.flat(operand));
      return x ? Form(broadcast(*x, shape_)) : Form();
    }
    const AttrValue& given = op_.number(operand);
    const DType t = op_.in_type(1 - operand).dtype;  // of two operands one is a tensor
    const std::optional<int64_t> number = whole(given);
    if (number && t == DType::boolean) return constant(shape_, *number != 0 ? 0 : -1);
    if (!number || (is_integer(t) && !given.is_int())) return {};
    return checked(constant(shape_, *number), t);
  }

  Form positions() const {
    const auto start = whole(op_.attr("start")), step = whole(op_.attr("step"));
    return start && step ? Form(Layout{shape_, {*step}, *start}) : Form();
  }

  // A copy to bool, or from it, isn't affine.
  Form copied() const {
    const bool was_bool = op_.in_type(0).dtype == DType::boolean;
    const Form x = operand_(0);
    if (!x || was_bool != (op_.out_type(0).dtype == DType::boolean)) return {};
    return loop::reshaped(*x, shape_);
  }

  Form flipped() const {
    Form x = operand_(0);
    if (!x) return {};
    for (const int64_t given : op_.ints_attr("dims")) {
      const size_t d = static_cast<size_t>(given < 0 ? given + std::ssize(shape_) : given);
      x->offset += x->strides[d] * (shape_[d] - 1);
      x->strides[d] = -x->strides[d];
    }
    return x;
  }

  Form joined() const {
    const int64_t given = op_.int_attr("dim");
    const size_t dim = static_cast<size_t>(given < 0 ? given + std::ssize(shape_) : given);
    std::vector<Layout> parts;
    for (int k = 0; k < op_.list_size(); ++k) {
      if (op_.list_type(k).rank() != std::ssize(shape_) ||
          op_.list_type(k).dtype != op_.out_type(0).dtype)
        return {};
      const Form part = operand_(k);
      if (!part) return {};
      parts.push_back(*part);
    }
    Layout out{shape_, parts[0].strides, parts[0].offset};
    if (const auto line =
            std::ranges::find_if(parts, [&](const Layout& p) { return p.shape[dim] > 1; });
        line != parts.end())
      out.strides[dim] = line->strides[dim];
    else if (parts.size() > 1)
      out.strides[dim] = parts[1].offset - parts[0].offset;
    if (!is_within_limit(out.strides[dim], shape_[dim])) return {};
    int64_t begin = 0;
    for (Layout& part : parts) {
      if (part.offset != out.offset + out.strides[dim] * begin) return {};
      if (part.shape[dim] == 1) part.strides[dim] = out.strides[dim];
      if (part.strides != out.strides) return {};
      begin += part.shape[dim];
    }
    return out;
  }

  // The sums of one number up to each place.
  Form counted() const {
    const Form x = operand_(0);
    const DType from = op_.in_type(0).dtype, to = op_.out_type(0).dtype;
    if (!x || !is_integer(to) || shape_.empty()) return {};
    const std::optional<AttrValue> number = uniform_number(*x, from);
    if (!number || !(is_integer(from) || from == DType::boolean)) return {};
    Layout out = constant(shape_, static_cast<int64_t>(number->as_double()));
    const int64_t given = op_.int_attr("dim");
    out.strides[static_cast<size_t>(given < 0 ? given + std::ssize(shape_) : given)] = out.offset;
    return out;
  }

  // One element for each place, with an index along every dim, none of which counts from the end.
  Form looked_up() const {
    const Form x = operand_(0);
    if (!x || op_.list_size() != std::ssize(x->shape)) return {};
    Form out = constant(shape_, x->offset);
    for (int d = 0; d < op_.list_size() && out; ++d) {
      if (!op_.list_has(d) || !is_integer(op_.list_type(d).dtype)) return {};
      const Form index = operand_(op_.flat(1) + d);
      if (!index) return {};
      const Bounds b = bounds_of(*index);
      const size_t dim = static_cast<size_t>(d);
      if (b.lo < 0 || b.hi >= static_cast<double>(x->shape[dim])) return {};
      out = combined(*out, 1, broadcast(*index, shape_), x->strides[dim]);
    }
    return out;
  }

  Form computed() const {
    const std::string& name = op_.name();
    const Form a = arranged(0), b = arranged(1);
    if (!a || !b || !of_numbers()) return {};
    if (name == "mul") {
      const auto is_constant = [](const Layout& x) {
        return std::ranges::all_of(x.strides, [](int64_t s) { return s == 0; });
      };
      const Layout none = constant(shape_, 0);
      if (is_constant(*b)) return combined(*a, b->offset, none, 0);
      return is_constant(*a) ? combined(*b, a->offset, none, 0) : Form();
    }
    const std::optional<int64_t> alpha = whole(op_.attr("alpha"));
    if (!alpha || (*alpha != 1 && is_floating(op_.out_type(0).dtype))) return {};
    if (name == "add") return combined(*a, 1, *b, *alpha);
    return name == "sub" ? combined(*a, 1, *b, -*alpha) : combined(*b, 1, *a, -*alpha);
  }

  // One of the two is true (or false) everywhere.
  Form decided(bool dominant) const {
    const Form a = arranged(0), b = arranged(1);
    for (const auto& [x, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      const std::optional<AttrValue> number =
          *x ? uniform_number(**x, DType::boolean) : std::nullopt;
      if (number) return *number->get<bool>() == dominant ? *x : *other;
    }
    return {};
  }

  Form compared() const {
    static constexpr std::array names = {"lt", "le", "gt", "ge", "eq", "ne"};
    if (std::ranges::find(names, op_.name()) == names.end()) return {};
    const Form a = arranged(0), b = arranged(1);
    const Form less = a && b ? combined(*a, 1, *b, -1) : Form();
    if (!less) return {};
    const std::string& name = op_.name();
    if (name == "ge") return less;
    if (name == "gt") return combined(*less, 1, *less, 0, -1);
    if (name == "le" || name == "lt") return negated(*less, name == "lt" ? -1 : 0);
    const Bounds difference = bounds_of(*less);
    const bool are_equal = difference.lo == 0 && difference.hi == 0;
    if (!are_equal && difference.lo <= 0 && difference.hi >= 0) return {};
    return constant(shape_, are_equal == (name == "eq") ? 0 : -1);
  }

  const OpView& op_;
  const int k_;
  const OperandForm& operand_;
  const std::vector<int64_t> shape_;
};

bool has_elements(const Type& t) {
  return t.is_static() && std::ranges::all_of(t.shape, [](const Dim& d) { return d.value() > 0; });
}

}  // namespace

std::optional<Layout> index_form(const OpView& call, int k, const OperandForm& operand) {
  const Type& y = call.out_type(k);
  if (exact_up_to(y.dtype) == 0 || !has_elements(y)) return {};
  for (const Type* t : call.types())
    if (t != nullptr && !has_elements(*t)) return {};
  Form form = FormRules(call, k, operand).run();
  return form ? checked(*std::move(form), y.dtype) : Form();
}

std::optional<Layout> uniform_form(const Type& t, const AttrValue& number) {
  if (!has_elements(t)) return {};
  if (const bool* b = number.get<bool>()) return constant(static_shape(t), *b ? 0 : -1);
  const std::optional<int64_t> n = whole(number);
  return n ? checked(constant(static_shape(t), *n), t.dtype) : Form();
}

std::optional<AttrValue> uniform_number(const Layout& form, DType t) {
  const Bounds b = bounds_of(form);
  if (t == DType::boolean) {
    if (b.lo < 0 && b.hi >= 0) return {};
    return AttrValue(b.lo >= 0);
  }
  if (b.lo != b.hi || is_floating(t)) return {};
  return AttrValue(form.offset);
}

}  // namespace cleave
