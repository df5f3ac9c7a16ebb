#include "backend/cuda/cudnn_convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/cuda/plain_convolution.h"

namespace cleave::cuda {
namespace {

using Product = ConvolutionProduct;

constexpr int math_tensor_cores = 1, math_fma = 3;
constexpr int cross_correlation = 1, channels_first = 0, channels_last = 1;

bool is_flat(const ConvolutionSpec& s) {
  return s.large[0] == 1 && s.small[0] == 1 && s.kernel[0] == 1 && s.padding[0] == 0;
}
// The spatial dims that cuDNN is told of.
std::vector<int> spatial(const ConvolutionSpec& s, const Sizes3& sizes) {
  std::vector<int> out;
  for (size_t d = is_flat(s) ? 1 : 0; d < 3; ++d) out.push_back(static_cast<int>(sizes[d]));
  return out;
}
std::vector<int> with_channels(int64_t outer, int64_t channels, const std::vector<int>& spatial) {
  std::vector<int> out = {static_cast<int>(outer), static_cast<int>(channels)};
  out.insert(out.end(), spatial.begin(), spatial.end());
  return out;
}

}  // namespace

struct CudnnConvolution::Descriptors {
  explicit Descriptors(CudnnPtr of) : cudnn(std::move(of)) {}
  ~Descriptors() {
    const CudnnApi& api = cudnn->api();
    if (large != nullptr) api.tensor_destroy(large);
    if (small != nullptr) api.tensor_destroy(small);
    if (weight != nullptr) api.filter_destroy(weight);
    if (how != nullptr) api.convolution_destroy(how);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  CudnnStatus fill(const ConvolutionSpec& s) {
    const CudnnApi& api = cudnn->api();
    const CudnnType type = cudnn_type(s.dtype);
    CudnnStatus status = 0;
    const auto then = [&](const auto& call) {
      if (status == 0) status = call();
    };
    const auto tensor = [&](void*& at, int64_t channels, const Sizes3& sizes) {
      const std::vector<int> all = with_channels(s.images, channels, spatial(s, sizes));
      std::vector<int> strides(all.size(), 1);
      for (size_t d = all.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * all[d];
      if (s.channels_last) {
        strides.back() = all[1];
        for (size_t d = all.size() - 1; d > 2; --d) strides[d - 1] = strides[d] * all[d];
        strides[1] = 1;
      }
      then([&] { return api.tensor_create(&at); });
      then([&] {
        return api.tensor_set(at, type, static_cast<int>(all.size()), all.data(), strides.data());
      });
    };
    tensor(large, s.large_channels, s.large);
    tensor(small, s.small_channels, s.small);
    const std::vector<int> filter =
        with_channels(s.small_channels, s.large_channels / s.groups, spatial(s, s.kernel));
    then([&] { return api.filter_create(&weight); });
    then([&] {
      return api.filter_set(weight, type, s.channels_last ? channels_last : channels_first,
                            static_cast<int>(filter.size()), filter.data());
    });
    const std::vector<int> padding = spatial(s, s.padding), stride = spatial(s, s.stride),
                           dilation = spatial(s, s.dilation);
    const bool is_half = size_of(s.dtype) == 2;
    then([&] { return api.convolution_create(&how); });
    then([&] {
      return api.convolution_set(how, static_cast<int>(padding.size()), padding.data(),
                                 stride.data(), dilation.data(), cross_correlation,
                                 s.dtype == DType::f64 ? CudnnType::f64 : CudnnType::f32);
    });
    then([&] { return api.convolution_groups(how, static_cast<int>(s.groups)); });
    then([&] { return api.convolution_math(how, is_half ? math_tensor_cores : math_fma); });
    return status;
  }

  const CudnnPtr cudnn;
  void *large = nullptr, *small = nullptr, *weight = nullptr, *how = nullptr;
};

bool CudnnConvolution::takes(const ConvolutionSpec& s) {
  const int64_t most = std::max({s.images * s.large_channels * positions_of(s.large),
                                 s.images * s.small_channels * positions_of(s.small),
                                 s.small_channels * s.large_channels * positions_of(s.kernel)});
  if (s.weight_packed || s.images == 0 || s.large_channels == 0 || s.small_channels == 0 ||
      most > INT32_MAX)
    return false;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t room = s.large[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1;
    if (room < 0 || room / s.stride[d] + 1 != s.small[d]) return false;
  }
  return true;
}

int64_t CudnnConvolution::scratch_bytes(const ConvolutionSpec& s) {
  const int64_t flops = s.flops();
  if (flops < int64_t{1} << 22) return int64_t{1} << 20;
  return flops < int64_t{1} << 28 ? int64_t{8} << 20 : int64_t{64} << 20;
}

Result<CudnnConvolution> CudnnConvolution::make(const ConvolutionSpec& s, const CudnnPtr& cudnn,
                                                const LibraryDevice& device) {
  CudnnConvolution made;
  made.spec_ = s;
  made.cudnn_ = cudnn;
  const auto at = std::make_shared<Descriptors>(cudnn);
  if (const CudnnStatus status = at->fill(s); status != 0)
    return unsupported("cudnn: a convolution's descriptors: {}", cudnn->message(status));
  made.at_ = at;
  constexpr int most = 8;
  CudnnAlgorithm found[most] = {};
  int count = 0;
  const CudnnApi& api = cudnn->api();
  const CudnnStatus status = cudnn->with_handle(nullptr, [&](CudnnHandle handle) {
    switch (s.product) {
      case Product::to_small:
        return api.forward_algorithms(handle, at->large, at->weight, at->how, at->small, most,
                                      &count, found);
      case Product::to_large:
        return api.data_algorithms(handle, at->weight, at->small, at->how, at->large, most, &count,
                                   found);
      case Product::to_weight: break;
    }
    return api.filter_algorithms(handle, at->large, at->small, at->how, at->weight, most, &count,
                                 found);
  });
  const auto fits = [&](const CudnnAlgorithm& a) {
    return a.status == 0 && a.is_deterministic == 1 &&
           static_cast<int64_t>(a.workspace_bytes) <= scratch_bytes(s);
  };
  const CudnnAlgorithm* end = found + (status == 0 ? count : 0);
  const CudnnAlgorithm* chosen = std::find_if(found, const_cast<CudnnAlgorithm*>(end), fits);
  if (chosen == end)
    return unsupported("cudnn: none of {} algorithms of a convolution: {}", count,
                       cudnn->message(status));
  made.algorithm_ = *chosen;
  if (size_of(s.dtype) == 2) api.convolution_math(at->how, chosen->math);
  if (s.has_bias || s.has_added || s.relu) {
    CLEAVE_TRY(made.finish_, device.kernel(finish_convolution_call(s.dtype)));
  }
  return made;
}

CudnnStatus CudnnConvolution::queue_product(CudnnHandle handle, void* const* operands,
                                            void* workspace) const {
  using At = ConvolutionOperand;
  const CudnnApi& api = cudnn_->api();
  const float narrow[] = {1, 0};
  const double wide[] = {1, 0};
  const bool is_f64 = spec_.dtype == DType::f64;
  const void* alpha = is_f64 ? static_cast<const void*>(&wide[0]) : &narrow[0];
  const void* beta = is_f64 ? static_cast<const void*>(&wide[1]) : &narrow[1];
  const void *image = operands[At::image], *other = operands[At::other];
  void* out = operands[At::out];
  const int algorithm = algorithm_.algorithm;
  const size_t bytes = algorithm_.workspace_bytes;
  switch (spec_.product) {
    case Product::to_small:
      return api.forward(handle, alpha, at_->large, image, at_->weight, other, at_->how, algorithm,
                         workspace, bytes, beta, at_->small, out);
    case Product::to_large:
      return api.backward_data(handle, alpha, at_->weight, other, at_->small, image, at_->how,
                               algorithm, workspace, bytes, beta, at_->large, out);
    case Product::to_weight: break;
  }
  return api.backward_filter(handle, alpha, at_->large, image, at_->small, other, at_->how,
                             algorithm, workspace, bytes, beta, at_->weight, out);
}

void CudnnConvolution::run(void* const* operands, void* scratch, void* queue) const {
  const CudnnStatus status = cudnn_->with_handle(
      queue, [&](CudnnHandle handle) { return queue_product(handle, operands, scratch); });
  if (status != 0) throw_bug("cudnn: a convolution: {}", cudnn_->message(status));
  if (finish_) finish_convolution(*finish_, spec_, operands, queue);
}

}  // namespace cleave::cuda
