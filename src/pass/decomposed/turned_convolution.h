// Convolutions as calls on tensors whose channels are the last dim:
//
//   convolution, convolution_backward      convolution_channels_last, its backward
//   with a kernel of 1 and stride 1        products of [positions, channels]
#pragma once
#include "pass/decomposed/turned_values.h"

namespace cleave {

struct ConvolutionTurns {
  int64_t most_bytes = 2;      // of an element; of larger ones a convolution stays
  bool makes_products = true;  // of kernels of 1
};

// The images among the operands and results of a convolution, or of a gradient of one by its input
// or its weight; empty: it stays.
Values images_of_convolution(const Graph& g, NodeId n, const ConvolutionTurns& turns);

// As turn_call (turned_call.h), for calls with images.
Status turn_convolution(Builder& b, NodeId n, TurnedValues& values, const ConvolutionTurns& turns);

}  // namespace cleave
