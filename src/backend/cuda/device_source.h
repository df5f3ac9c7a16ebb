// The text of a kernel that a library call runs: a function of device/ for given types, with all
// that it includes.
//
//   device_source({"product.h", "product<f32, f32, f32, Strided<f32>, AddCIn<f32>>",
//                  {"ProductArguments", "const void*", ...}})
//
//   #include "backend/cuda/device/..."      in their place
//   extern "C" __global__ void library_call(ProductArguments x0, const void* x1, ...) {
//     product<...>(x0, x1, ...);
//   }
#pragma once
#include <string>
#include <vector>

namespace cleave::cuda {

struct DeviceCall {
  std::string header;    // in device/
  std::string function;  // with its template arguments
  std::vector<std::string> parameters;
};

constexpr const char* device_symbol = "library_call";
constexpr int device_threads = 256;  // of a block, of every such kernel

std::string device_source(const DeviceCall& call);

}  // namespace cleave::cuda
