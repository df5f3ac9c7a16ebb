// gemm_block.h for any processor: vectors of 16 bytes, product and sum rounded apart.
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/gemm_block.h"
#include "runtime/half.h"

namespace cleave::runtime {
namespace {

template <class T>
struct Vec {
  static constexpr int64_t lanes = 16 / sizeof(T);
  typedef T type __attribute__((vector_size(16)));

  static type zero() { return type{}; }
  static type all(T x) { return x - type{}; }
  static type load(const T* from) {
    type v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(T* to, type v) { std::memcpy(to, &v, sizeof v); }
  static type add(type x, type y) { return x + y; }
  static type multiply_add(type x, type y, type z) { return z + x * y; }
  static int64_t turn_columns(const T*, int64_t, int64_t, T*) { return 0; }
};

template <class T>
inline constexpr int mr_of = 4;

inline constexpr int64_t kc_bytes = 1024;

#include "runtime/gemm_block_code.h"

}  // namespace

GemmBlockKernel gemm_block_kernel_plain(DType dtype) { return kernel_for(dtype); }

}  // namespace cleave::runtime
