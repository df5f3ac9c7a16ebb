// What a caller passes, compared with what a program takes. Nothing is allocated where it is right.
#pragma once
#include "base/result.h"
#include "standalone/interface.h"
#include "standalone/program_file.h"

namespace cleave::standalone {

enum class Strides {
  given,  // those of the entry
  any,    // it is read
  apart,  // it is written: any by which no two elements share a byte
};

// Error (user), which begins with `what`: NULL where there has to be something, another dtype,
// rank, shape or strides, an address that doesn't suit the elements.
Status check_tensor(const TensorEntry& expected, const cleave_tensor* given, Strides strides,
                    std::string_view what, size_t number);

// The strides of a tensor that was checked: row-major ones are written to `memory`, of 64 numbers.
std::span<const int64_t> strides_of(const cleave_tensor& t, int64_t* memory);

// "f32[2,3]", and " strides=[1,2]" where they aren't row-major.
std::string type_text(DType dtype, std::span<const int64_t> shape,
                      std::span<const int64_t> strides);

}  // namespace cleave::standalone
