#include "import/exported/autocast.h"

#include <algorithm>
#include <array>

namespace cleave::exported {
namespace {

constexpr std::array<std::string_view, 16> lowered = {"conv1d",
                                                      "conv2d",
                                                      "conv3d",
                                                      "conv_transpose1d",
                                                      "conv_transpose2d",
                                                      "conv_transpose3d",
                                                      "bmm",
                                                      "mm",
                                                      "baddbmm",
                                                      "addmm",
                                                      "addbmm",
                                                      "linear",
                                                      "matmul",
                                                      "prelu",
                                                      "convolution",
                                                      "scaled_dot_product_attention"};
constexpr std::array<std::string_view, 14> widened = {"avg_pool3d",
                                                      "binary_cross_entropy",
                                                      "prod",
                                                      "mse_loss",
                                                      "cdist",
                                                      "l1_loss",
                                                      "smooth_l1_loss",
                                                      "huber_loss",
                                                      "nll_loss",
                                                      "nll_loss2d",
                                                      "nll_loss_nd",
                                                      "kl_div",
                                                      "cross_entropy_loss",
                                                      "binary_cross_entropy_with_logits"};

}  // namespace

std::optional<DType> autocast_dtype(std::string_view op, DType low) {
  if (std::ranges::find(lowered, op) != lowered.end()) return low;
  if (std::ranges::find(widened, op) != widened.end()) return DType::f32;
  return std::nullopt;
}

}  // namespace cleave::exported
