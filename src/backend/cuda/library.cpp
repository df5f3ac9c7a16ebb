#include "backend/cuda/library.h"

#include "backend/cuda/library_attention.h"
#include "backend/cuda/library_convolution.h"
#include "backend/cuda/library_sort.h"

namespace cleave::cuda {
namespace {

struct Maker {
  const LibraryDevicePtr& device;
  const Answers& answers;
  bool is_deterministic;

  auto operator()(const GemmSpec& s) const { return make_gemm(s, device, answers); }
  auto operator()(const AttentionSpec& s) const { return make_attention(s, device); }
  auto operator()(const AttentionBackwardSpec& s) const {
    return make_attention_gradient(s, device, is_deterministic);
  }
  auto operator()(const ConvolutionSpec& s) const { return make_convolution(s, device); }
  auto operator()(const SortSpec& s) const { return make_sort(s, device); }
  Result<LibraryFunctionPtr> operator()(const GroupedProductSpec&) const {
    return bug("products of groups are decomposed for GPUs");
  }
};

}  // namespace

Result<LibraryFunctionPtr> make_library(const LibrarySpec& spec, const LibraryDevicePtr& device,
                                        const Answers& answers, bool is_deterministic) {
  return std::visit(Maker{device, answers, is_deterministic}, spec);
}

}  // namespace cleave::cuda
