#include "emit/lane_expr.h"

#include <algorithm>

#include "ir/attr.h"
#include "loop/replace.h"

namespace cleave::emit {

using loop::Expr;
using loop::Op;

namespace {

// Longer parts of an expression are named on a line of their own.
constexpr size_t long_text = 60;

std::string_view element(DType compute) {
  return compute == DType::boolean ? "i32" : name_of(compute);
}

std::string_view memory_element(DType t) {
  switch (t) {
    case DType::bf16:
    case DType::f16: return "u16";
    case DType::c64: return "f32";
    case DType::boolean: return "u8";
    default: return name_of(t);
  }
}

bool is_wide(DType compute) { return compute == DType::f64 || compute == DType::i64; }

}  // namespace

std::string lane_type(DType compute, int lanes) {
  return fmt::format("{}x{}", element(compute), lanes);
}
std::string memory_lane_type(DType stored, int lanes) {
  return fmt::format("{}x{}", memory_element(stored), lanes);
}
std::string stored_lanes(DType stored, int lanes, const std::string& value) {
  switch (stored) {
    case DType::bf16:
    case DType::f16: return fmt::format("store_{}x{}({})", name_of(stored), lanes, value);
    case DType::i16:
    case DType::i8:
    case DType::u8: return fmt::format("to_{}({})", memory_lane_type(stored, lanes), value);
    case DType::boolean: return fmt::format("to_u8x{}({} & 1)", lanes, value);
    default: return value;
  }
}

std::string LaneExprWriter::x(std::string_view name) const {
  return fmt::format("{}x{}", name, loop_.lanes);
}

std::string LaneExprWriter::first(const Expr& e, std::vector<std::string>& lines) {
  static const std::unordered_map<int64_t, std::string> no_arrays;
  return ExprWriter(kernel_, buffers_, no_arrays, next_temp_).write({e}, lines)[0];
}

std::vector<std::string> LaneExprWriter::vectors(const std::vector<Expr>& roots,
                                                 std::vector<std::string>& lines) {
  parts_ = loop::SharedParts(roots);
  named_.clear();
  lines_ = &lines;
  std::vector<std::string> out;
  for (const Expr& e : roots) out.push_back(vector(e, ""));
  return out;
}

std::string LaneExprWriter::named(DType type, const std::string& text) {
  std::string name = fmt::format("c{}", next_temp_++);
  lines_->push_back(fmt::format("const {} {} = {};", lane_type(type, loop_.lanes), name, text));
  return name;
}

LaneExprWriter::Text LaneExprWriter::value(const Expr& e, const std::string& reached) {
  // Expressions that are always reached read their memory in all lanes, wherever they occur.
  const std::string on = is_leaf(e) || parts_.is_always_reached(e) ? "" : reached;
  const bool guarded = !on.empty() && e->reads_memory;
  const LaneStride stride = loop_.strides.of(e);
  if (stride == LaneStride(0) && !guarded) return {first(e, *lines_), true};
  if (stride && !guarded)
    return {fmt::format("{}({}, {})", x("lanes_i64"), first(e, *lines_), stride.value_or(0)),
            false};
  if (e->op == Op::var) return {e->name(), false};
  if (auto it = named_.find(&*e); it != named_.end()) return {it->second, false};
  std::string text = made(e, on);
  if (parts_.is_computed_before(e) || text.size() > long_text) {
    text = named(e.type(), text);
    if (!guarded) named_.emplace(&*e, text);
  }
  return {text, false};
}

std::string LaneExprWriter::vector(const Text& v, DType type) const {
  if (!v.shared) return v.text;
  if (type == DType::boolean) return fmt::format("{}(-({}))", x("all_i32"), v.text);
  return fmt::format("all_{}({})", lane_type(type, loop_.lanes), v.text);
}
std::string LaneExprWriter::vector(const Expr& e, const std::string& on) {
  return vector(value(e, on), e.type());
}

std::string LaneExprWriter::made(const Expr& e, const std::string& on) {
  if (e->op == Op::load) return load(e, on);
  if (e->op == Op::select) return select(e, on);
  if (e->op == Op::cast) return cast(e, on);
  if (e->op == Op::round_to) return rounded(e, on);
  const bool of_bool = e->args[0].type() == DType::boolean;
  switch (e->op) {
    case Op::add: return infix(e, of_bool ? "|" : "+", on);
    case Op::sub: return infix(e, "-", on);
    case Op::mul: return infix(e, of_bool ? "&" : "*", on);
    case Op::div:
      if (is_floating(e.type())) return infix(e, "/", on);
      break;
    case Op::bit_and:
    case Op::logical_and: return infix(e, "&", on);
    case Op::bit_or:
    case Op::logical_or: return infix(e, "|", on);
    case Op::bit_xor: return infix(e, "^", on);
    case Op::eq: return infix(e, "==", on);
    case Op::ne: return infix(e, "!=", on);
    // True is -1 in a lane.
    case Op::lt: return infix(e, of_bool ? ">" : "<", on);
    case Op::le: return infix(e, of_bool ? ">=" : "<=", on);
    case Op::gt: return infix(e, of_bool ? "<" : ">", on);
    case Op::ge: return infix(e, of_bool ? "<=" : ">=", on);
    case Op::min:
      if (of_bool) return infix(e, "&", on);
      break;
    case Op::max:
      if (of_bool) return infix(e, "|", on);
      break;
    default: break;
  }
  return call(e, on);
}

std::string LaneExprWriter::infix(const Expr& e, std::string_view sign, const std::string& on) {
  const DType t = e->args[0].type();
  const bool guarded = !on.empty() && e->reads_memory;
  if (t == DType::i64 && !guarded && (e->op == Op::eq || e->op == Op::ne))
    for (size_t k : {0, 1})
      if (loop_.strides.of(e->args[k]) == LaneStride(1) &&
          loop_.strides.of(e->args[1 - k]) == LaneStride(0))
        return fmt::format("{}{}({}, {})", e->op == Op::ne ? "~" : "", x("lane_at_i32"),
                           first(e->args[k], *lines_), first(e->args[1 - k], *lines_));
  Text a = value(e->args[0], on), b = value(e->args[1], on);
  if (t == DType::boolean || (a.shared && b.shared)) {
    a.text = vector(a, t);
    b.text = vector(b, t);
  }
  std::string out = fmt::format("({} {} {})", a.text, sign, b.text);
  const bool compare = e->op >= Op::eq && e->op <= Op::ge;
  return compare && is_wide(t) ? fmt::format("{}{}", x("to_i32"), out) : out;
}

std::string LaneExprWriter::load(const Expr& e, const std::string& on) {
  const auto buffer = static_cast<size_t>(e->buffer());
  const DType stored = kernel_.buffers[buffer].dtype;
  const std::string base = buffers_.use(buffer), type = memory_lane_type(stored, loop_.lanes);
  const Expr& index = e->args[0];
  const bool indirect = !on.empty() && index->reads_memory;
  const LaneStride found = loop_.strides.of(index);
  const bool regular = found.has_value() && !indirect;
  const int64_t stride = regular ? *found : 0;
  std::string mask = on;
  if (!on.empty() && !loop_.left.empty())
    mask = fmt::format("{} & {}({})", on, x("first_i32"), loop_.left);
  std::string out;
  if (loop_.strides.is_own(e->buffer())) {
    out = fmt::format("get_{}({} + {}*{})", type, base, loop_.lanes, first(index, *lines_));
  } else if (regular && stride == 0) {
    const std::string at = fmt::format("{} + {}", base, first(index, *lines_));
    out = fmt::format("same_{}_where({}, {})", type, at, mask);
  } else if (regular && stride == 1) {
    const std::string at = fmt::format("{} + {}", base, first(index, *lines_));
    out = !mask.empty()         ? fmt::format("get_{}_where({}, {})", type, at, mask)
          : !loop_.left.empty() ? fmt::format("get_{}_first({}, {})", type, at, loop_.left)
                                : fmt::format("get_{}({})", type, at);
  } else if (regular && mask.empty()) {
    const std::string at = fmt::format("{} + {}", base, first(index, *lines_));
    out = !loop_.left.empty()
              ? fmt::format("strided_{}_first({}, {}, {})", type, at, stride, loop_.left)
              : fmt::format("strided_{}({}, {})", type, at, stride);
  } else {
    const std::string at = vector(index, on);
    const bool words = stored == DType::f32 || stored == DType::i32;
    const std::string_view how = words && is_computed(index) ? "near" : "gather";
    out = !mask.empty() ? fmt::format("{}_{}_where({}, {}, {})", how, type, base, at, mask)
          : !loop_.left.empty()
              ? fmt::format("{}_{}_first({}, {}, {})", how, type, base, at, loop_.left)
              : fmt::format("{}_{}({}, {})", how, type, base, at);
  }
  switch (stored) {
    case DType::bf16:
    case DType::f16: return fmt::format("load_{}({})", x(name_of(stored)), out);
    case DType::i16:
    case DType::i8:
    case DType::u8: return fmt::format("{}({})", x("to_i32"), out);
    case DType::boolean: return fmt::format("({}({}) != 0)", x("to_i32"), out);
    default: return out;
  }
}

std::string LaneExprWriter::select(const Expr& e, const std::string& on) {
  const Expr &c = e->args[0], &a = e->args[1], &b = e->args[2];
  const bool reads = a->reads_memory || b->reads_memory;
  const Text test = value(c, on);
  if (test.shared && !reads)
    return fmt::format("({} ? {} : {})", test.text, vector(a, on), vector(b, on));
  std::string condition = vector(test, c.type());
  if (!reads)
    return fmt::format("{}({}, {}, {})", x("select_" + std::string(element(e.type()))), condition,
                       vector(a, on), vector(b, on));
  // The lanes that take each arm.
  if (condition.find_first_of("( ") != std::string::npos) condition = named(c.type(), condition);
  const auto arm = [&](const std::string& lanes) {
    return on.empty() ? lanes : named(DType::boolean, fmt::format("{} & {}", on, lanes));
  };
  const std::string then = a->reads_memory ? vector(a, arm(condition)) : vector(a, on);
  const std::string otherwise = b->reads_memory ? vector(b, arm("~" + condition)) : vector(b, on);
  return fmt::format("{}({}, {}, {})", x("select_" + std::string(element(e.type()))), condition,
                     then, otherwise);
}

std::string LaneExprWriter::cast(const Expr& e, const std::string& on) {
  const DType from = e->args[0].type(), to = e.type();
  const std::string v = vector(e->args[0], on);
  if (to == DType::boolean) {
    const std::string truth = fmt::format("({} != 0)", v);
    return is_wide(from) ? fmt::format("{}{}", x("to_i32"), truth) : truth;
  }
  if (from == DType::boolean) {
    if (to == DType::i32) return fmt::format("({} & 1)", v);
    return fmt::format("to_{}({} & 1)", type_of(e), v);
  }
  if (is_floating(from) && !is_floating(to))
    return fmt::format("{}_to_{}({})", name_of(from), type_of(e), v);
  return fmt::format("to_{}({})", type_of(e), v);
}

std::string LaneExprWriter::rounded(const Expr& e, const std::string& on) {
  const DType stored = e->stored();
  const std::string v = vector(e->args[0], on);
  if (is_floating(stored)) return fmt::format("round_{}({})", x(name_of(stored)), v);
  return fmt::format("{}(to_{}({}))", x("to_i32"), memory_lane_type(stored, loop_.lanes), v);
}

bool LaneExprWriter::is_computed(const Expr& e) const {
  bool out = true;
  if (e->reads_memory)
    loop::for_each_part(e, [&](const Expr& part) {
      out = out &&
            (part->op != Op::load ||
             kernel_.buffers[static_cast<size_t>(part->buffer())].access == loop::Access::local);
    });
  return out;
}

bool LaneExprWriter::is_fixed(const Expr& e) const {
  if (e->op == Op::var) return !loop_.strides.changes_inside(e);
  if (e->op == Op::load && kernel_.buffers[e->buffer()].access != loop::Access::read) return false;
  return std::ranges::all_of(e->args, [&](const Expr& a) { return is_fixed(a); });
}

std::string LaneExprWriter::call(const Expr& e, const std::string& on) {
  const DType t = e->args[0].type();
  const std::string type = lane_type(t, loop_.lanes);
  const bool single = t == DType::f32, floating = is_floating(t), of_bool = t == DType::boolean;
  if (e->op == Op::philox) {
    std::vector<std::string> shared;
    for (size_t k : {0, 1, 2}) shared.push_back(first(e->args[k], *lines_));
    const auto fixed = [&](size_t k) { return is_fixed(e->args[k]); };
    if (loop_.strides.of(e->args[3]) == LaneStride(1) && fixed(0) && fixed(1) && fixed(2)) {
      const int n = next_temp_++;
      loop_.before.push_back(fmt::format("uint32_t philox_words{}[64];", n));
      loop_.before.push_back(fmt::format("int64_t philox_at{} = -64;", n));
      return fmt::format("{0}({1}, {2}, {3}, {4}, philox_words{5}, &philox_at{5})",
                         x("philox_next_i64"), shared[0], shared[1], shared[2],
                         first(e->args[3], *lines_), n);
    }
    return fmt::format("{}({}, {}, {}, {})", x("philox_i64"), shared[0], shared[1], shared[2],
                       vector(e->args[3], on));
  }
  const std::string a = vector(e->args[0], on);
  const std::string b = e->args.size() > 1 ? vector(e->args[1], on) : "";
  const auto own = [&](std::string_view name) {
    return b.empty() ? fmt::format("{}_{}({})", name, type, a)
                     : fmt::format("{}_{}({}, {})", name, type, a, b);
  };
  // A function of one element, called for each lane.
  const auto each = [&](const std::string& name) {
    return b.empty() ? fmt::format("EACH({}, {}, {})", type, name, a)
                     : fmt::format("EACH_2({}, {}, {}, {})", type, name, a, b);
  };
  const std::string name(name_of(e->op));
  const std::string narrow = is_wide(t) ? x("to_i32") : "";
  switch (e->op) {
    case Op::min:
    case Op::max: return own(name);
    case Op::sign: return of_bool ? a : own(name);
    case Op::abs:
      if (of_bool) return a;
      return floating ? own(name) : fmt::format("max_{0}({1}, -{1})", type, a);
    case Op::neg: return fmt::format("(-{})", a);
    case Op::logical_not:
      return of_bool ? fmt::format("(~{})", a) : fmt::format("{}({} == 0)", narrow, a);
    case Op::bit_not: return fmt::format("(~{})", a);
    case Op::sqrt: return own(name);
    case Op::rsqrt: return fmt::format("(1.0{} / sqrt_{}({}))", single ? "f" : "", type, a);
    case Op::floor:
    case Op::ceil:
    case Op::trunc: return floating ? own(name) : a;
    case Op::round: return floating ? own("rint") : a;
    case Op::isnan:
      if (!floating) return fmt::format("{}(0)", x("all_i32"));
      return fmt::format("{0}({1} != {1})", narrow, a);
    case Op::isinf:
      if (!floating) return fmt::format("{}(0)", x("all_i32"));
      return fmt::format("{}(abs_{}({}) == __builtin_inf{}())", narrow, type, a, single ? "f" : "");
    case Op::shl:
    case Op::shr:
      if (const int64_t* n = e->args[1].as_const_int(); n && *n >= 0 && *n < (is_wide(t) ? 64 : 32))
        return fmt::format("({} {} {})", a, e->op == Op::shl ? "<<" : ">>", *n);
      return own(name);
    case Op::div: return each(fmt::format("truncdiv_{}", name_of(t)));
    case Op::truncdiv:
    case Op::truncmod:
    case Op::floordiv:
    case Op::floormod: return each(fmt::format("{}_{}", name, name_of(t)));
    case Op::pow:
      if (single) return own(name);
      return each(floating ? "pow" : fmt::format("pow_{}", name_of(t)));
    default: break;
  }
  if (is_elementary(e->op, t)) return own(name);
  return each(name + (single ? "f" : ""));
}

}  // namespace cleave::emit
