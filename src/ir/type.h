// The type of a value: dtype, shape, strides if they are fixed, device.
//
//   f32[2,s0*4]    bf16[8,16]{1,8}@cuda:0    i64[]    none (an unused result)
//
// Without strides, a placeholder or result is row-major; lowering chooses the layout of any other
// value. See ir/strides.h.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cleave/device.h"
#include "cleave/dtype.h"
#include "ir/dim.h"

namespace cleave {

using Shape = std::vector<Dim>;

struct Type {
  DType dtype = DType::f32;
  bool is_none = false;  // an unused result: no dtype, no shape
  Device device;
  Shape shape;
  std::optional<std::vector<Dim>> strides;

  // Not inline: types are made and destroyed in nearly every file.
  Type();
  Type(DType d, Shape s);
  Type(const Type& from);
  Type(Type&& from) noexcept;
  Type& operator=(const Type& from);
  Type& operator=(Type&& from) noexcept;
  ~Type();
  static Type none();

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  bool is_static() const;  // no symbol in sizes and strides
  Dim numel() const;
  std::string text() const;
  friend bool operator==(const Type&, const Type&) = default;
};

using Types = std::vector<Type>;

// Limits: dims <= 2^47, elements * size <= 2^60 (so is the memory that the strides span), at most
// 64 dims. The message names the dim.
Status check_type_limits(const Type& t);

// Concrete sizes of a static shape; callers check is_static() first.
std::vector<int64_t> static_shape(const Type& t);
std::string shape_text(const Shape& s);  // "[2,s0]"

// "f32" to DType::f32.
std::optional<DType> dtype_named(std::string_view name);

// ATen's type promotion for the dtypes of two tensors, by category: bool < integer < floating.
DType promote(DType a, DType b);

}  // namespace cleave
