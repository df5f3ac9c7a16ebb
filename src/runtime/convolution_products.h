// The products of convolution.h: to_small and to_large, whose results are images, to_small with a
// packed weight, and to_weight; and what computes them directly.
#pragma once
#include <memory>

#include "runtime/convolution.h"

namespace cleave::runtime {

std::shared_ptr<Convolution> make_image_product(const ConvolutionSpec& spec, InstructionSet set);
std::shared_ptr<Convolution> make_packed_product(const ConvolutionSpec& spec, InstructionSet set);
// The same as these two, with the same bits, of what it covers; is_in_place: where it is faster.
std::shared_ptr<Convolution> make_in_place_product(const ConvolutionSpec& spec, InstructionSet set);
bool covers_in_place(const ConvolutionSpec& spec, InstructionSet set);
bool is_in_place(const ConvolutionSpec& spec, InstructionSet set);
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
