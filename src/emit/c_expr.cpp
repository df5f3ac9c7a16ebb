#include "emit/c_expr.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/attr.h"

namespace cleave::emit {

using loop::Expr;
using loop::Op;

std::string_view c_type(DType t) {
  switch (t) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::i64: return "int64_t";
    case DType::i32: return "int32_t";
    default: return "int";
  }
}

std::string_view c_storage_type(DType t) {
  switch (t) {
    case DType::f64: return "double";
    case DType::f32:
    case DType::c64: return "float";
    case DType::bf16:
    case DType::f16: return "uint16_t";
    case DType::i64: return "int64_t";
    case DType::i32: return "int32_t";
    case DType::i16: return "int16_t";
    case DType::i8: return "int8_t";
    case DType::u8:
    case DType::boolean: return "uint8_t";
  }
  return "float";
}

const loop::Expr& before_rounding(const loop::Expr& value, DType stored) {
  const bool halves = stored == DType::bf16 || stored == DType::f16;
  const bool rounded = value->op == Op::round_to && value->stored() == stored;
  return halves && rounded ? value->args[0] : value;
}

std::string c_stored(DType t, const std::string& value) {
  switch (t) {
    case DType::bf16: return fmt::format("store_bf16({})", value);
    case DType::f16: return fmt::format("store_f16({})", value);
    case DType::i16:
    case DType::i8:
    case DType::u8:
    case DType::boolean: return fmt::format("({})({})", c_storage_type(t), value);
    default: return value;
  }
}

std::string c_constant(const loop::ExprNode& e) {
  if (is_floating(e.type)) {
    const bool single = e.type == DType::f32;
    const double value = e.real();
    if (std::isnan(value)) return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
    if (std::isinf(value))
      return fmt::format("{}{}", value < 0 ? "-" : "",
                         single ? "__builtin_inff()" : "__builtin_inf()");
    if (!single) return double_text(value);
    std::string s = fmt::format("{}", static_cast<float>(value));
    return s + (s.find_first_of(".e") == std::string::npos ? ".0f" : "f");
  }
  const int64_t value = e.integer();
  if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807 - 1)";
  if (e.type == DType::i32 && value == std::numeric_limits<int32_t>::min())
    return "(-2147483647 - 1)";
  return std::to_string(value);
}

bool is_elementary(Op op, DType t) {
  if (t == DType::f64)
    return op == Op::exp || op == Op::log || op == Op::log1p || op == Op::sigmoid;
  if (t != DType::f32) return false;
  switch (op) {
    case Op::exp:
    case Op::exp2:
    case Op::expm1:
    case Op::log:
    case Op::log2:
    case Op::log1p:
    case Op::tanh:
    case Op::erf:
    case Op::sigmoid:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::atan2:
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::log10:
    case Op::fmod:
    case Op::pow: return true;
    default: return false;
  }
}

namespace {

std::string suffix(DType t) { return std::string(name_of(t)); }

// Infix operators; empty for other operations.
std::string_view infix(Op op) {
  switch (op) {
    case Op::add: return "+";
    case Op::sub: return "-";
    case Op::mul: return "*";
    case Op::div: return "/";
    case Op::bit_and: return "&";
    case Op::bit_or: return "|";
    case Op::bit_xor: return "^";
    case Op::eq: return "==";
    case Op::ne: return "!=";
    case Op::lt: return "<";
    case Op::le: return "<=";
    case Op::gt: return ">";
    case Op::ge: return ">=";
    case Op::logical_and: return "&";  // operands are 0 or 1; no branch
    case Op::logical_or: return "|";
    default: return "";
  }
}

// Functions of libm that exist as NAME and NAMEf.
bool in_libm(Op op) {
  switch (op) {
    case Op::exp2:
    case Op::expm1:
    case Op::log2:
    case Op::log10:
    case Op::log1p:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::fmod:
    case Op::atan2: return true;
    default: return false;
  }
}

std::string call(const loop::ExprNode& e, const std::vector<std::string>& a) {
  const DType t = e.args.empty() ? e.type : e.args[0].type();
  const bool single = t == DType::f32, floating = is_floating(t);
  const char* f = single ? "f" : "";
  auto one = [&](const std::string& name) { return fmt::format("{}({})", name, a[0]); };
  auto two = [&](const std::string& name) { return fmt::format("{}({}, {})", name, a[0], a[1]); };
  if (is_elementary(e.op, t)) {
    const std::string name = fmt::format("{}_{}", name_of(e.op), name_of(t));
    return a.size() == 2 ? two(name) : one(name);
  }
  if (in_libm(e.op)) {
    std::string name = std::string(name_of(e.op)) + f;
    return a.size() == 2 ? two(name) : one(name);
  }
  switch (e.op) {
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::erf: return one(std::string(name_of(e.op)));
    case Op::sigmoid: return one("sigmoid_" + suffix(t));
    case Op::pow: return two(floating ? "pow" : "pow_" + suffix(t));
    case Op::min:
    case Op::max:
      if (t == DType::boolean)
        return fmt::format("({} {} {})", a[0], e.op == Op::min ? "&" : "|", a[1]);
      return two(fmt::format("{}_{}", name_of(e.op), suffix(t)));
    case Op::sign: return t == DType::boolean ? a[0] : one("sign_" + suffix(t));
    case Op::truncdiv:
    case Op::truncmod:
    case Op::floordiv:
    case Op::floormod:
    case Op::shl:
    case Op::shr:
      return two(fmt::format("{}_{}", name_of(e.op), suffix(t == DType::boolean ? DType::i32 : t)));
    case Op::neg: return fmt::format("(-{})", a[0]);
    case Op::abs:
      if (t == DType::boolean) return a[0];
      if (floating) return one(std::string("__builtin_fabs") + f);
      return fmt::format("({0} < 0 ? -{0} : {0})", a[0]);
    case Op::logical_not: return fmt::format("(!{})", a[0]);
    case Op::bit_not: return fmt::format("({}{})", t == DType::boolean ? '!' : '~', a[0]);
    case Op::sqrt: return one(std::string("__builtin_sqrt") + f);
    case Op::rsqrt: return fmt::format("(1.0{0} / __builtin_sqrt{0}({1}))", f, a[0]);
    case Op::floor:
    case Op::ceil:
    case Op::trunc: return floating ? one(fmt::format("__builtin_{}{}", name_of(e.op), f)) : a[0];
    case Op::round: return floating ? one(std::string("__builtin_rint") + f) : a[0];
    case Op::isnan: return floating ? fmt::format("({0} != {0})", a[0]) : "0";
    case Op::isinf:
      return floating ? fmt::format("(__builtin_fabs{}({}) == __builtin_inf{}())", f, a[0], f)
                      : "0";
    case Op::select: return fmt::format("({} ? {} : {})", a[0], a[1], a[2]);
    case Op::philox: return fmt::format("philox({}, {}, {}, {})", a[0], a[1], a[2], a[3]);
    case Op::round_to:
      if (is_floating(e.stored())) return one(fmt::format("round_{}", name_of(e.stored())));
      return fmt::format("(({})({}){})", c_type(e.type), c_storage_type(e.stored()), a[0]);
    case Op::cast:
      if (e.type == DType::boolean) return fmt::format("({} != 0)", a[0]);
      if (floating && !is_floating(e.type))
        return one(fmt::format("{}_to_{}", name_of(t), name_of(e.type)));
      return fmt::format("(({}){})", c_type(e.type), a[0]);
    default: throw_bug("emit: no C for {}", name_of(e.op));
  }
}

}  // namespace

std::vector<std::string> ExprWriter::write(const std::vector<Expr>& roots,
                                           std::vector<std::string>& lines) {
  parts_ = loop::SharedParts(roots);
  named_.clear();
  std::vector<std::string> out;
  for (const Expr& e : roots) out.push_back(text(e, lines));
  return out;
}

std::string ExprWriter::text(const Expr& e, std::vector<std::string>& lines) {
  if (is_leaf(e)) return plain(e, lines);
  if (auto it = named_.find(&*e); it != named_.end()) return it->second;
  std::string t = plain(e, lines);
  if (!parts_.is_computed_before(e)) return t;
  std::string name = fmt::format("c{}", next_temp_++);
  lines.push_back(fmt::format("const {} {} = {};", c_type(e.type()), name, t));
  named_.emplace(&*e, name);
  return name;
}

// A positive number, or a scalar that is one in each call.
bool ExprWriter::is_positive(const Expr& e) const {
  if (const int64_t* n = e.as_const_int()) return *n > 0;
  if (e->op != Op::var || e->id() >= 0) return false;
  const loop::Exprs& values = kernel_.scalars[static_cast<size_t>(-1 - e->id())].values;
  return !values.empty() &&
         std::ranges::all_of(values, [](const Expr& v) { return v->integer() > 0; });
}

std::string ExprWriter::plain(const Expr& e, std::vector<std::string>& lines) {
  if (e->op == Op::constant) {
    std::string c = c_constant(*e);
    return c[0] == '-' ? fmt::format("({})", c) : c;
  }
  if (e->op == Op::var) {
    buffers_.use_variable(e->id());
    auto lane = lane_vars_.find(e->id());
    return lane == lane_vars_.end() ? e->name() : fmt::format("{}[{}]", e->name(), lane->second);
  }
  std::vector<std::string> a;
  for (const Expr& x : e->args) a.push_back(text(x, lines));
  if (e->op == Op::load) {
    const DType t = kernel_.buffers[e->buffer()].dtype;
    std::string element = fmt::format("{}[{}]", buffers_.use(e->buffer()), a[0]);
    if (t == DType::bf16) return fmt::format("load_bf16({})", element);
    if (t == DType::f16) return fmt::format("load_f16({})", element);
    return element;
  }
  if (std::string_view sign = infix(e->op); !sign.empty()) {
    if (e->op == Op::div && !is_floating(e.type()))
      return fmt::format("truncdiv_{}({}, {})", suffix(e.type()), a[0], a[1]);
    if (e.type() == DType::boolean && e->args[0].type() == DType::boolean &&
        (e->op == Op::add || e->op == Op::mul))
      return fmt::format("({} {} {})", a[0], e->op == Op::add ? "|" : "&", a[1]);
    return fmt::format("({} {} {})", a[0], sign, a[1]);
  }
  if ((e->op == Op::truncdiv || e->op == Op::truncmod) && is_positive(e->args[1]))
    return fmt::format("({} {} {})", a[0], e->op == Op::truncdiv ? "/" : "%", a[1]);
  return call(*e, a);
}

}  // namespace cleave::emit
