// The code of attention_block.h, compiled once for each instruction set: attention_block_*.cpp
// include this file after Vec<T> and mr_of<T> (vec_*.h), in a namespace of their delta.
// Each part uses those before it.
#include "runtime/attention_tile_code.h"

#include "runtime/attention_exp_code.h"

#include "runtime/attention_dropout_code.h"

#include "runtime/attention_scores_code.h"

#include "runtime/attention_forward_code.h"

#include "runtime/attention_backward_range_code.h"

#include "runtime/attention_backward_code.h"

template <class S>
consteval AttentionKernel attention_kernel_of() {
  if constexpr (has_code)
    return {sizes, forward_block<S>, backward_block<S>, sum_partial<S>};
  else
    return {sizes, [](const AttentionSpec&, const AttentionForward&, const AttentionRange&, void*) {
              std::abort();
            }};
}

consteval AttentionKernels all_kernels() {
  return {.f32 = attention_kernel_of<float>(),
          .bf16 = attention_kernel_of<Bf16>(),
          .f16 = attention_kernel_of<F16>()};
}
