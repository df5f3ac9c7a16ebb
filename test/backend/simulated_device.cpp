#include "test/backend/simulated_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cleave/dtype.h"
// The texts come after what they are simulated by.
#include "test/backend/simulated_threads.h"

// Parts of a line outside its image are neither written nor read, which gcc doesn't see.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
//
#include "backend/cuda/device/attention.h"
#include "backend/cuda/device/attention_bias.h"
#include "backend/cuda/device/attention_gradient.h"
#include "backend/cuda/device/convolution.h"
#include "backend/cuda/device/copy.h"
#include "backend/cuda/device/depthwise.h"
#include "backend/cuda/device/pad_keys.h"
#include "backend/cuda/device/product.h"
#include "backend/cuda/device/sort.h"

namespace cleave::test {
namespace {

using namespace cuda::device;
using cuda::device::f64, cuda::device::f32, cuda::device::bf16, cuda::device::f16;
using cuda::device::i64, cuda::device::i32, cuda::device::i16, cuda::device::i8, cuda::device::u8;
using Body = std::function<void(void* const*)>;
using Bodies = std::map<std::string, Body>;

// A function of the texts that takes its parameters from where they lie.
template <class... P>
Body body_of(void (*f)(P...)) {
  return [f](void* const* at) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      f(*static_cast<std::remove_cvref_t<P>*>(at[I])...);
    }(std::index_sequence_for<P...>());
  };
}

template <class T>
constexpr const char* name = "";
#define NAME(T) \
  template <>   \
  constexpr const char* name<T> = #T
NAME(f64);
NAME(f32);
NAME(bf16);
NAME(f16);
NAME(i64);
NAME(i32);
NAME(i16);
NAME(i8);
NAME(u8);
#undef NAME

template <class T, class X, class B>
void add_product(Bodies& to, const std::string& b) {
  to[fmt::format("product<{0}, {0}, {1}, {2}, AddCIn<{0}>>", name<T>, name<X>, b)] =
      body_of(product<T, T, X, B, AddCIn<T>>);
}
template <class T, class X, class... Y>
void add_products_of(Bodies& to) {
  (add_product<T, X, Strided<Y>>(to, fmt::format("Strided<{}>", name<Y>)), ...);
  to[fmt::format("copy_matrix<{}, {}>", name<T>, name<X>)] = body_of(copy_matrix<T, X>);
  if constexpr (std::is_same_v<T, f32> || is_half<T>) add_product<T, X, Nibbles>(to, "Nibbles");
  if constexpr (std::is_same_v<T, f32>) add_product<T, X, Panels>(to, "Panels");
}
// Of operands in any two of the types X.
template <class T, class... X>
void add_products(Bodies& to) {
  (add_products_of<T, X, X...>(to), ...);
}
template <class T>
void add_attention(Bodies& to) {
  const auto add = [&](const char* f, Body body) {
    to[fmt::format("{}<{}>", f, name<T>)] = std::move(body);
  };
  add("attention", body_of(attention<T>));
  add("attention_delta", body_of(attention_delta<T>));
  add("attention_dquery", body_of(attention_dquery<T>));
  add("attention_dkey", body_of(attention_dkey<T>));
  add("attention_dmask", body_of(attention_dmask<T>));
}
template <class T>
void add_padding(Bodies& to) {
  to[fmt::format("pad_keys<{}>", name<T>)] = body_of(pad_keys<T>);
  to[fmt::format("unpad_keys<{}>", name<T>)] = body_of(unpad_keys<T>);
}
template <class T>
void add_bias(Bodies& to) {
  to[fmt::format("write_bias<u8, {}>", name<T>)] = body_of(write_bias<u8, T>);
  to[fmt::format("write_bias<{0}, {0}>", name<T>)] = body_of(write_bias<T, T>);
  to[fmt::format("close_rows<{}>", name<T>)] = body_of(close_rows<T>);
}
template <class T>
void add_convolution(Bodies& to) {
  const auto add = [&](const char* f, Body body) {
    to[fmt::format("{}<{}>", f, name<T>)] = std::move(body);
  };
  add("convolve_to_small", body_of(convolve_to_small<T>));
  add("convolve_to_large", body_of(convolve_to_large<T>));
  add("convolve_to_weight", body_of(convolve_to_weight<T>));
  add("finish_convolution", body_of(finish_convolution<T>));
}
template <class T, int V, int K>
void add_depthwise_kernel(Bodies& to) {
  const auto add = [&](const char* f, int last, Body body) {
    to[fmt::format("{}<{}, {}, {}, {}>", f, name<T>, V, K, last)] = std::move(body);
  };
  add("depthwise_strips", 1, body_of(depthwise_strips<T, V, K, 1>));
  add("depthwise_strips", 2, body_of(depthwise_strips<T, V, K, 2>));
  add("depthwise_spread", K - 1, body_of(depthwise_spread<T, V, K, K - 1>));
  add("depthwise_spread", K - 2, body_of(depthwise_spread<T, V, K, K - 2>));
  add("depthwise_to_weight", 1, body_of(depthwise_to_weight<T, V, K, 1>));
  add("depthwise_to_weight", 2, body_of(depthwise_to_weight<T, V, K, 2>));
}
// Of any of the numbers V of neighbouring channels.
template <class T, int... V>
void add_depthwise(Bodies& to) {
  to[fmt::format("depthwise_taps<{}>", name<T>)] = body_of(depthwise_taps<T>);
  to[fmt::format("depthwise_sum_weight<{}>", name<T>)] = body_of(depthwise_sum_weight<T>);
  (add_depthwise_kernel<T, V, 3>(to), ...);
  (add_depthwise_kernel<T, V, 5>(to), ...);
  (add_depthwise_kernel<T, V, 7>(to), ...);
}
template <class... T>
void add_sort(Bodies& to) {
  ((to[fmt::format("sort_read<{}>", name<T>)] = body_of(sort_read<T>),
    to[fmt::format("sort_write<{}>", name<T>)] = body_of(sort_write<T>)),
   ...);
  to["sort_merge"] = body_of(sort_merge);
}

Bodies all_bodies() {
  Bodies to;
  add_products<f64, f64>(to);
  add_products<f32, f32, bf16, f16, i8, u8>(to);
  add_products<bf16, bf16, f32, i8, u8>(to);
  add_products<f16, f16, f32, i8, u8>(to);
  add_products<i64, i64>(to);
  add_products<i32, i32, i8, u8>(to);
  add_products<i16, i16>(to);
  add_products<i8, i8>(to);
  add_products<u8, u8>(to);
  to["product<f32, i32, i8, Strided<i8>, ScaleSum>"] =
      body_of(product<f32, i32, i8, Strided<i8>, ScaleSum>);
  to["unpack_matrix<f32, Panels>"] = body_of(unpack_matrix<f32, Panels>);
  to["unpack_matrix<f32, Nibbles>"] = body_of(unpack_matrix<f32, Nibbles>);
  to["unpack_matrix<bf16, Nibbles>"] = body_of(unpack_matrix<bf16, Nibbles>);
  to["unpack_matrix<f16, Nibbles>"] = body_of(unpack_matrix<f16, Nibbles>);
  add_attention<f32>(to), add_attention<bf16>(to), add_attention<f16>(to);
  add_padding<bf16>(to), add_padding<f16>(to);
  add_bias<bf16>(to), add_bias<f16>(to);
  add_convolution<f64>(to), add_convolution<f32>(to);
  add_convolution<bf16>(to), add_convolution<f16>(to);
  add_depthwise<f32, 1, 2>(to);
  add_depthwise<bf16, 1, 2, 4>(to), add_depthwise<f16, 1, 2, 4>(to);
  add_sort<f64, f32, bf16, f16, i64, i32, i16, i8, u8>(to);
  return to;
}

class Kernel final : public cuda::DeviceKernel {
 public:
  Kernel(const Body& body, int64_t most_blocks) : body_(body), most_blocks_(most_blocks) {}
  void launch(int64_t blocks, void* const* arguments, void*) const override {
    run_blocks(std::min(blocks, most_blocks_), [&] { body_(arguments); });
  }

 private:
  const Body& body_;
  const int64_t most_blocks_;
};

class Device final : public cuda::LibraryDevice {
 public:
  Device(bool has_libraries, int64_t most_blocks, SimulatedCudnn cudnn)
      : most_blocks_(most_blocks) {
    if (!has_libraries) return;
    cublas_ = std::make_shared<cuda::Cublas>(simulated_cublas());
    cudnn_ = std::make_shared<cuda::Cudnn>(simulated_cudnn(cudnn));
  }
  Result<cuda::DeviceKernelPtr> kernel(const cuda::DeviceCall& call) const override {
    static const Bodies bodies = all_bodies();
    const auto found = bodies.find(call.function);
    if (found == bodies.end()) return bug("no body of {}", call.function);
    return cuda::DeviceKernelPtr(std::make_shared<Kernel>(found->second, most_blocks_));
  }
  std::shared_ptr<const cuda::Cublas> cublas() const override { return cublas_; }
  cuda::CudnnPtr cudnn() const override { return cudnn_; }

 private:
  const int64_t most_blocks_;
  std::shared_ptr<const cuda::Cublas> cublas_;
  cuda::CudnnPtr cudnn_;
};

}  // namespace

cuda::LibraryDevicePtr simulated_device(bool has_libraries, int64_t most_blocks,
                                        SimulatedCudnn cudnn) {
  return std::make_shared<Device>(has_libraries, most_blocks, cudnn);
}

}  // namespace cleave::test
