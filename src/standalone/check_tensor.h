// What a caller passes, compared with what a program takes. Nothing is allocated where it is right.
#pragma once
#include <span>

#include "base/result.h"
#include "standalone/interface.h"
#include "standalone/program_file.h"

namespace cleave::standalone {

constexpr int32_t most_dims = 64;

enum class Strides {
  given,  // those of the type
  any,    // it is read
  apart,  // it is written: any by which no two elements share a byte
};

// Of whom an error is: "`x`", and in front of it what the tensor is and its number.
struct Whose {
  std::string_view what;
  std::optional<size_t> number;
  std::string_view name;
};

// Error (user), which begins with `whose`: NULL where there has to be something, another dtype,
// rank, shape or strides, an address that doesn't suit the elements.
Status check_tensor(const TensorType& expected, const cleave_tensor* given, Strides strides,
                    const Whose& whose);
// Whether its dtype and shape can be looked at. Errors as above.
Status check_form(const cleave_tensor* given, const Whose& whose);
Failure wrong_tensor(const Whose& whose, const std::string& text);

std::span<const int64_t> shape_of(const cleave_tensor& t);
// The strides of a tensor that was checked: row-major ones are written to `memory`, of 64 numbers.
std::span<const int64_t> strides_of(const cleave_tensor& t, int64_t* memory);

// "f32[2,3]", and " strides=[1,2]" where they aren't row-major.
std::string type_text(const TensorType& type);
std::string type_text(DType dtype, std::span<const int64_t> shape);

}  // namespace cleave::standalone
