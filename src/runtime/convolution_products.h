// The products of convolution.h: to_small and to_large, whose results are images, to_small with a
// packed weight, and to_weight; and what computes them directly.
#pragma once
#include <memory>

#include "runtime/convolution.h"

namespace cleave::runtime {

std::shared_ptr<Convolution> make_image_product(const ConvolutionSpec& spec, InstructionSet set);
std::shared_ptr<Convolution> make_packed_product(const ConvolutionSpec& spec, InstructionSet set);
std::shared_ptr<Convolution> make_weight_product(const ConvolutionSpec& spec, InstructionSet set);
// The same without a product: for groups of few channels, and for those of one channel each
// (convolution.cpp: is_direct, is_depthwise).
std::shared_ptr<Convolution> make_direct_image(const ConvolutionSpec& spec, InstructionSet set);
std::shared_ptr<Convolution> make_direct_weight(const ConvolutionSpec& spec, InstructionSet set);
std::shared_ptr<Convolution> make_depthwise_image(const ConvolutionSpec& spec, InstructionSet set);
std::shared_ptr<Convolution> make_depthwise_weight(const ConvolutionSpec& spec, InstructionSet set);
// The call with channels as the last dim, by the row-major one (convolution_channels_last.cpp).
std::shared_ptr<Convolution> make_channels_last(const ConvolutionSpec& spec,
                                                std::shared_ptr<Convolution> row_major);

}  // namespace cleave::runtime
