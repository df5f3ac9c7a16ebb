#include "emit/instruction.h"

#include "base/result.h"
#include "emit/c_functions.h"

namespace cleave::emit {
namespace {

using loop::Op;
using loop::ReduceOp;
using I = const Instruction&;

template <class T>
T& get(Slot& s) {
  if constexpr (std::is_same_v<T, double>)
    return s.f64;
  else if constexpr (std::is_same_v<T, float>)
    return s.f32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return s.i64;
  else
    return s.i32;
}

// dst = F(a), F(a, b): F is a stateless function object.
template <class T, class R, auto F>
void one(Slot* s, I i) {
  get<R>(s[i.dst]) = static_cast<R>(F(get<T>(s[i.a])));
}
template <class T, class R, auto F>
void two(Slot* s, I i) {
  get<R>(s[i.dst]) = static_cast<R>(F(get<T>(s[i.a]), get<T>(s[i.b])));
}

// Integers wrap around.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;
template <class T>
constexpr auto add = [](T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
};
template <class T>
constexpr auto sub = [](T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
};
template <class T>
constexpr auto mul = [](T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
};
template <class T>
constexpr auto negated = [](T a) { return sub<T>(0, a); };

// The functions of c_functions.h and libm that differ by type.
#define CLEAVE_BY_TYPE(name, f64, f32, i64, i32)   \
  template <class T>                               \
  constexpr auto name = [](auto... x) {            \
    if constexpr (std::is_same_v<T, double>)       \
      return f64(x...);                            \
    else if constexpr (std::is_same_v<T, float>)   \
      return f32(x...);                            \
    else if constexpr (std::is_same_v<T, int64_t>) \
      return i64(x...);                            \
    else                                           \
      return i32(x...);                            \
  };
CLEAVE_BY_TYPE(least, c::min_f64, c::min_f32, c::min_i64, c::min_i32)
CLEAVE_BY_TYPE(greatest, c::max_f64, c::max_f32, c::max_i64, c::max_i32)
CLEAVE_BY_TYPE(sign, c::sign_f64, c::sign_f32, c::sign_i64, c::sign_i32)
CLEAVE_BY_TYPE(power, ::pow, c::pow_f32, c::pow_i64, c::pow_i32)
#undef CLEAVE_BY_TYPE

template <class T, auto F64, auto F32>
constexpr auto either = [](auto... x) {
  if constexpr (std::is_same_v<T, double>)
    return F64(x...);
  else
    return F32(x...);
};

#define CLEAVE_LIBM(name)                                             \
  constexpr auto name##_f64 = [](auto... x) { return ::name(x...); }; \
  constexpr auto name##_f32 = [](auto... x) { return ::name##f(x...); };
CLEAVE_LIBM(sqrt)
CLEAVE_LIBM(floor)
CLEAVE_LIBM(ceil)
CLEAVE_LIBM(trunc)
CLEAVE_LIBM(rint)
#undef CLEAVE_LIBM

template <class T>
InstructionFunction floating_function(Op op) {
#define CLEAVE_ONE(o, f) \
  case Op::o: return one<T, T, either<T, f##_f64, f##_f32>>;
#define CLEAVE_IN_BOTH(f) \
  case Op::f: return one<T, T, either<T, c::f##_f64, c::f##_f32>>;
#define CLEAVE_OWN(f) \
  case Op::f: return one<T, T, either<T, [](double x) { return ::f(x); }, c::f##_f32>>;
#define CLEAVE_OWN_2(f) \
  case Op::f: return two<T, T, either<T, [](double x, double y) { return ::f(x, y); }, c::f##_f32>>;
  switch (op) {
    CLEAVE_ONE(sqrt, sqrt)
    CLEAVE_ONE(floor, floor)
    CLEAVE_ONE(ceil, ceil)
    CLEAVE_ONE(trunc, trunc)
    CLEAVE_ONE(round, rint)
    CLEAVE_IN_BOTH(exp)
    CLEAVE_OWN(exp2)
    CLEAVE_OWN(expm1)
    CLEAVE_IN_BOTH(log)
    CLEAVE_OWN(log2)
    CLEAVE_IN_BOTH(log1p)
    CLEAVE_OWN(tanh)
    CLEAVE_OWN(erf)
    CLEAVE_OWN(sin)
    CLEAVE_OWN(cos)
    CLEAVE_OWN(tan)
    CLEAVE_OWN(asin)
    CLEAVE_OWN(acos)
    CLEAVE_OWN(atan)
    CLEAVE_OWN(sinh)
    CLEAVE_OWN(cosh)
    CLEAVE_OWN(asinh)
    CLEAVE_OWN(acosh)
    CLEAVE_OWN(atanh)
    CLEAVE_OWN(log10)
    CLEAVE_OWN_2(fmod)
    CLEAVE_OWN_2(atan2)
    CLEAVE_IN_BOTH(sigmoid)
    case Op::rsqrt: return one<T, T, [](T x) { return T(1) / std::sqrt(x); }>;
    case Op::abs: return one<T, T, [](T x) { return std::fabs(x); }>;
    case Op::div: return two<T, T, [](T a, T b) { return a / b; }>;
    case Op::isnan: return one<T, int32_t, [](T x) { return x != x; }>;
    case Op::isinf: return one<T, int32_t, [](T x) { return std::fabs(x) == INFINITY; }>;
    default: return nullptr;
  }
#undef CLEAVE_ONE
#undef CLEAVE_IN_BOTH
#undef CLEAVE_OWN
#undef CLEAVE_OWN_2
}

template <class T>
InstructionFunction integer_function(Op op) {
#define CLEAVE_TWO(o, f)                                                                       \
  case Op::o:                                                                                  \
    return std::is_same_v<T, int64_t> ? InstructionFunction(two<int64_t, int64_t, c::f##_i64>) \
                                      : InstructionFunction(two<int32_t, int32_t, c::f##_i32>);
  constexpr auto same = one<T, T, [](T x) { return x; }>;
  switch (op) {
    CLEAVE_TWO(div, truncdiv)
    CLEAVE_TWO(truncdiv, truncdiv)
    CLEAVE_TWO(truncmod, truncmod)
    CLEAVE_TWO(floordiv, floordiv)
    CLEAVE_TWO(floormod, floormod)
    CLEAVE_TWO(shl, shl)
    CLEAVE_TWO(shr, shr)
    case Op::bit_and: return two<T, T, [](T a, T b) { return a & b; }>;
    case Op::bit_or: return two<T, T, [](T a, T b) { return a | b; }>;
    case Op::bit_xor: return two<T, T, [](T a, T b) { return a ^ b; }>;
    case Op::bit_not: return one<T, T, [](T x) { return ~x; }>;
    case Op::abs: return one<T, T, [](T x) { return x < 0 ? negated<T>(x) : x; }>;
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round: return same;
    case Op::isnan:
    case Op::isinf: return one<T, int32_t, [](T) { return 0; }>;
    default: return nullptr;
  }
#undef CLEAVE_TWO
}

// Operations whose form for bool differs from that for int.
InstructionFunction bool_function(Op op) {
  using B = int32_t;
  switch (op) {
    case Op::add:
    case Op::max: return two<B, B, [](B a, B b) { return a | b; }>;
    case Op::mul:
    case Op::min: return two<B, B, [](B a, B b) { return a & b; }>;
    case Op::sign:
    case Op::abs: return one<B, B, [](B x) { return x; }>;
    case Op::bit_not: return one<B, B, [](B x) { return !x; }>;
    default: return nullptr;
  }
}

template <class T>
InstructionFunction shared_function(Op op) {
  using B = int32_t;
  switch (op) {
    case Op::add: return two<T, T, add<T>>;
    case Op::sub: return two<T, T, sub<T>>;
    case Op::mul: return two<T, T, mul<T>>;
    case Op::neg:
      if constexpr (std::is_floating_point_v<T>)
        return one<T, T, [](T x) { return -x; }>;
      else
        return one<T, T, negated<T>>;
    case Op::min: return two<T, T, least<T>>;
    case Op::max: return two<T, T, greatest<T>>;
    case Op::pow: return two<T, T, power<T>>;
    case Op::sign: return one<T, T, sign<T>>;
    case Op::eq: return two<T, B, [](T a, T b) { return a == b; }>;
    case Op::ne: return two<T, B, [](T a, T b) { return a != b; }>;
    case Op::lt: return two<T, B, [](T a, T b) { return a < b; }>;
    case Op::le: return two<T, B, [](T a, T b) { return a <= b; }>;
    case Op::gt: return two<T, B, [](T a, T b) { return b < a; }>;
    case Op::ge: return two<T, B, [](T a, T b) { return a >= b; }>;
    case Op::logical_not: return one<T, B, [](T x) { return !x; }>;
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>)
    return floating_function<T>(op);
  else
    return integer_function<T>(op);
}

void philox(Slot* s, I i) {
  s[i.dst].i64 = c::philox(s[i.a].i64, s[i.b].i64, s[i.c].i64, s[i.d].i64);
}

template <class T, class R>
R converted(T x) {
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<R, int64_t>)
    return std::is_same_v<T, float> ? c::f32_to_i64(static_cast<float>(x)) : c::f64_to_i64(x);
  else if constexpr (std::is_floating_point_v<T> && std::is_same_v<R, int32_t>)
    return std::is_same_v<T, float> ? c::f32_to_i32(static_cast<float>(x)) : c::f64_to_i32(x);
  else
    return static_cast<R>(x);
}
template <class T>
InstructionFunction cast_from(DType to) {
  switch (to) {
    case DType::f64: return one<T, double, converted<T, double>>;
    case DType::f32: return one<T, float, converted<T, float>>;
    case DType::i64: return one<T, int64_t, converted<T, int64_t>>;
    case DType::i32: return one<T, int32_t, converted<T, int32_t>>;
    default: return one<T, int32_t, [](T x) { return x != 0; }>;
  }
}

// Converts an element of memory to the compute type, and back.
template <class E, class T, auto F>
void load_as(Slot* s, I i) {
  get<T>(s[i.dst]) = static_cast<T>(F(static_cast<const E*>(s[i.a].buffer)[s[i.b].i64]));
}
template <class E, class T, auto F>
void store_as(Slot* s, I i) {
  static_cast<E*>(s[i.a].buffer)[s[i.b].i64] = static_cast<E>(F(get<T>(s[i.c])));
}
constexpr auto as_is = [](auto x) { return x; };
template <class E, class T, auto Load, auto Store>
constexpr MemoryFunctions in_memory = {load_as<E, T, Load>, store_as<E, T, Store>};

template <class T, auto F>
void fold(Slot* s, I i) {
  T& to = get<T>(s[i.dst]);
  to = static_cast<T>(F(to, get<T>(s[i.a])));
}
template <class T, auto F>
void fold_lane(Slot* s, I i) {
  T& to = get<T>(s[i.dst + static_cast<int32_t>(s[i.b].i64 & (loop::reduce_lanes - 1))]);
  to = static_cast<T>(F(to, get<T>(s[i.a])));
}

template <class T, template <class, auto> class Apply>
InstructionFunction combine(ReduceOp op, bool boolean) {
  switch (op) {
    case ReduceOp::sum: return Apply<T, add<T>>::run;
    case ReduceOp::prod: return Apply<T, mul<T>>::run;
    case ReduceOp::max:
      if constexpr (std::is_same_v<T, int32_t>)
        if (boolean) return Apply<T, [](T a, T b) { return a | b; }>::run;
      return Apply<T, greatest<T>>::run;
    case ReduceOp::min:
      if constexpr (std::is_same_v<T, int32_t>)
        if (boolean) return Apply<T, [](T a, T b) { return a & b; }>::run;
      return Apply<T, least<T>>::run;
    case ReduceOp::any:
      if constexpr (std::is_integral_v<T>) return Apply<T, [](T a, T b) { return a | b; }>::run;
      break;
    case ReduceOp::all:
      if constexpr (std::is_integral_v<T>) return Apply<T, [](T a, T b) { return a & b; }>::run;
      break;
  }
  throw_bug("bytecode: no {} of this type", name_of(op));
}
template <class T, auto F>
struct Fold {
  static void run(Slot* s, I i) { fold<T, F>(s, i); }
};
template <class T, auto F>
struct FoldLane {
  static void run(Slot* s, I i) { fold_lane<T, F>(s, i); }
};
template <template <class, auto> class Apply>
InstructionFunction combine_of(ReduceOp op, DType t) {
  switch (t) {
    case DType::f64: return combine<double, Apply>(op, false);
    case DType::f32: return combine<float, Apply>(op, false);
    case DType::i64: return combine<int64_t, Apply>(op, false);
    default: return combine<int32_t, Apply>(op, t == DType::boolean);
  }
}

}  // namespace

InstructionFunction function_of(Op op, DType t) {
  if (op == Op::philox) return philox;
  InstructionFunction f = t == DType::boolean ? bool_function(op) : nullptr;
  if (op == Op::logical_and) f = two<int32_t, int32_t, [](int32_t a, int32_t b) { return a & b; }>;
  if (op == Op::logical_or) f = two<int32_t, int32_t, [](int32_t a, int32_t b) { return a | b; }>;
  if (!f) switch (t) {
      case DType::f64: f = shared_function<double>(op); break;
      case DType::f32: f = shared_function<float>(op); break;
      case DType::i64: f = shared_function<int64_t>(op); break;
      default: f = shared_function<int32_t>(op); break;
    }
  if (!f) throw_bug("bytecode: no {} of {}", name_of(op), cleave::name_of(t));
  return f;
}

InstructionFunction cast_function(DType from, DType to) {
  switch (from) {
    case DType::f64: return cast_from<double>(to);
    case DType::f32: return cast_from<float>(to);
    case DType::i64: return cast_from<int64_t>(to);
    default: return cast_from<int32_t>(to);
  }
}

InstructionFunction round_function(DType stored) {
  switch (stored) {
    case DType::bf16: return one<float, float, c::round_bf16>;
    case DType::f16: return one<float, float, c::round_f16>;
    case DType::i16:
      return one<int32_t, int32_t, [](int32_t x) { return static_cast<int16_t>(x); }>;
    case DType::i8: return one<int32_t, int32_t, [](int32_t x) { return static_cast<int8_t>(x); }>;
    case DType::u8: return one<int32_t, int32_t, [](int32_t x) { return static_cast<uint8_t>(x); }>;
    default: throw_bug("bytecode: no rounding to {}", cleave::name_of(stored));
  }
}

MemoryFunctions memory_functions(DType t) {
  switch (t) {
    case DType::f64: return in_memory<double, double, as_is, as_is>;
    case DType::f32:
    case DType::c64: return in_memory<float, float, as_is, as_is>;
    case DType::bf16: return in_memory<uint16_t, float, c::load_bf16, c::store_bf16>;
    case DType::f16: return in_memory<uint16_t, float, c::load_f16, c::store_f16>;
    case DType::i64: return in_memory<int64_t, int64_t, as_is, as_is>;
    case DType::i32: return in_memory<int32_t, int32_t, as_is, as_is>;
    case DType::i16: return in_memory<int16_t, int32_t, as_is, as_is>;
    case DType::i8: return in_memory<int8_t, int32_t, as_is, as_is>;
    case DType::u8:
    case DType::boolean: return in_memory<uint8_t, int32_t, as_is, as_is>;
  }
  return {};
}

InstructionFunction move_function() {
  return [](Slot* s, I i) { s[i.dst] = s[i.a]; };
}

InstructionFunction fold_function(ReduceOp op, DType t) { return combine_of<Fold>(op, t); }
InstructionFunction lane_function(ReduceOp op, DType t) { return combine_of<FoldLane>(op, t); }

}  // namespace cleave::emit
