// The code of attention_block.h, compiled once for each instruction set: attention_block_*.cpp
// include this file after Vec<T> and mr_of<T> (vec_*.h), in a namespace of their own.
// Each part uses those before it.
#include "runtime/attention_tile_code.h"

#include "runtime/attention_exp_code.h"

#include "runtime/attention_dropout_code.h"

#include "runtime/attention_scores_code.h"

#include "runtime/attention_forward_code.h"

#include "runtime/attention_backward_code.h"

template <class S>
AttentionKernel attention_kernel_of() {
  return {.forward = forward_block<S>,
          .forward_scratch = forward_scratch,
          .backward = backward_block<S>,
          .backward_scratch = backward_scratch,
          .sum_partial = sum_partial<S>,
          .panel = nr,
          .block_columns = block_columns,
          .lanes = lanes};
}

inline AttentionKernel kernel_for(DType dtype) {
  switch (dtype) {
    case DType::f32: return attention_kernel_of<float>();
    case DType::bf16: return attention_kernel_of<Bf16>();
    case DType::f16: return attention_kernel_of<F16>();
    default: return {};
  }
}
