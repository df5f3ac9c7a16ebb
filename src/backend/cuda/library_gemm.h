// Products on the device (GemmSpec).
//
//   floating     by cuBLASLt, some in parts (gemm_parts.h): sums of f32 in f32, of halves in f32,
//                rounded once. Operands in layouts and types that it doesn't take (strides of both
//                dims, i8, four bits, panels, f32 of a product of halves) are copied into the
//                workspace first. A C_in that is one row is its epilogue, one in C's layout its C;
//                any other is copied into C first
//   the rest     integers, scaled sums of i8, k = 0, what cuBLASLt refuses, and all where it isn't
//                installed: by a kernel of our own (device/product.h)
//
// Errors: Unsupported for bool and c64; Bug for sizes that no operator gives.
#pragma once
#include <map>
#include <string>

#include "backend/cuda/gemm_parts.h"
#include "backend/cuda/library_device.h"
#include "library/gemm_spec.h"
#include "library/library_function.h"

namespace cleave::cuda {

// answers: Target.
using Answers = std::map<std::string, int>;
Result<LibraryFunctionPtr> make_gemm(const GemmSpec& spec, const LibraryDevicePtr& device,
                                     const Answers& answers = {},
                                     const GemmPartLimits& limits = {});

}  // namespace cleave::cuda
