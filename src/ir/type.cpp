#include "ir/type.h"

#include <algorithm>

#include "ir/strides.h"

namespace cleave {

Type::Type() = default;
Type::Type(DType d, Shape s) : dtype(d), shape(std::move(s)) {}
Type::Type(const Type& from) = default;
Type::Type(Type&& from) noexcept = default;
Type& Type::operator=(const Type& from) = default;
Type& Type::operator=(Type&& from) noexcept = default;
Type::~Type() = default;

Type Type::none() {
  Type t;
  t.is_none = true;
  return t;
}

bool Type::is_static() const {
  const auto is_const = [](const Dim& d) { return d.is_const(); };
  return std::ranges::all_of(shape, is_const) &&
         (!strides || std::ranges::all_of(*strides, is_const));
}

Dim Type::numel() const {
  Dim n = 1;
  for (const Dim& d : shape) n = n * d;
  return n;
}

std::string shape_text(const Shape& s) {
  std::string out = "[";
  for (size_t i = 0; i < s.size(); ++i) {
    if (i) out += ',';
    out += s[i].text();
  }
  return out + ']';
}

std::string Type::text() const {
  if (is_none) return "none";
  std::string out(name_of(dtype));
  out += shape_text(shape);
  if (strides) {
    std::string s = shape_text(*strides);
    s.front() = '{', s.back() = '}';
    out += s;
  }
  if (device.kind == DeviceKind::cuda) out += fmt::format("@cuda:{}", device.index);
  return out;
}

Status check_type_limits(const Type& t) {
  constexpr int64_t max_dim = int64_t{1} << 47, max_bytes = int64_t{1} << 60;
  if (t.is_none) return {};
  if (t.rank() > 64) return user_error("a tensor has {} dims, at most 64 are allowed", t.rank());
  for (const Dim& d : t.shape)
    if (d.is_const() && (d.value() < 0 || d.value() > max_dim))
      return user_error("dim {} of {} is outside [0, 2^47]", d.value(), t.text());
  if (t.strides && t.strides->size() != t.shape.size())
    return user_error("{} has {} strides for {} dims", t.text(), t.strides->size(), t.rank());
  Dim elements = 1;  // a dim of 0 counts 1, so that strides stay within bounds too
  for (const Dim& d : t.shape)
    if (d.is_const() && d.value() > 0) elements = elements * d;
  if (elements.value() > max_bytes / size_of(t.dtype))
    return user_error("{} has more than 2^60 bytes", t.text());
  if (t.strides)
    for (const Dim& d : *t.strides)
      if (d.is_const() && (d.value() < 0 || d.value() > max_bytes))
        return user_error("stride {} of {} is outside [0, 2^60]", d.value(), t.text());
  if (t.strides && t.is_static() && memory_bytes(t) > max_bytes)
    return user_error("{} lies over more than 2^60 bytes", t.text());
  return {};
}

std::vector<int64_t> static_shape(const Type& t) {
  std::vector<int64_t> out;
  for (const Dim& d : t.shape) out.push_back(d.value());
  return out;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < dtype_count; ++i)
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::c64 || b == DType::c64) return DType::c64;
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    if (a == DType::f64 || b == DType::f64) return DType::f64;
    return DType::f32;  // f32 with a half, or the two halves
  }
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (a == DType::u8 || b == DType::u8) {
    DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return size_of(a) > size_of(b) ? a : b;
}

}  // namespace cleave
