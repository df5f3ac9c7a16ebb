// Specs of library calls as bytes (base/archive.h).
#pragma once
#include "base/archive.h"
#include "library/spec.h"

namespace cleave {

template <class A>
void archive(A& a, Is<GemmSpec::Scale> auto& s) {
  auto& [is_given, row, col] = s;
  a(is_given, row, col);
}

template <class A>
void archive(A& a, Is<GemmSpec> auto& s) {
  auto& [dtype, batch, m, n, k, a_batch, a_row, a_col, b_batch, b_row, b_col, has_c_in, c_in_batch,
         c_in_row, c_in_col, alpha, beta, a_stored, b_stored, scales_sums, scales, b_is_nibbles,
         b_packed, c_batch, c_row] = s;
  a(dtype, batch, m, n, k, a_batch, a_row, a_col, b_batch, b_row, b_col, has_c_in, c_in_batch,
    c_in_row, c_in_col, alpha, beta, a_stored, b_stored, scales_sums, scales, b_is_nibbles,
    b_packed, c_batch, c_row);
}

template <class A>
void archive(A& a, Is<HeadStrides> auto& s) {
  auto& [batch, head, row, column] = s;
  a(batch, head, row, column);
}

template <class A>
void archive(A& a, Is<AttentionSpec> auto& s) {
  auto& [dtype, batch, heads, key_group, value_group, rows, columns, width, value_width, query, key,
         value, out, sum_rows, scale, is_causal, mask, mask_at, dropout_p, stream] = s;
  a(dtype, batch, heads, key_group, value_group, rows, columns, width, value_width, query, key,
    value, out, sum_rows, scale, is_causal, mask, mask_at, dropout_p, stream);
}

template <class A>
void archive(A& a, Is<AttentionBackwardSpec> auto& s) {
  auto& [forward, dout, dquery, dkey, dvalue, dmask, wants_dquery, wants_dkey, wants_dvalue,
         wants_dmask] = s;
  a(forward, dout, dquery, dkey, dvalue, dmask, wants_dquery, wants_dkey, wants_dvalue,
    wants_dmask);
}

template <class A>
void archive(A& a, Is<ConvolutionSpec> auto& s) {
  auto& [product, dtype, images, large_channels, small_channels, groups, large, small, kernel,
         stride, padding, dilation, has_bias, has_added, relu, weight_packed, channels_last] = s;
  a(product, dtype, images, large_channels, small_channels, groups, large, small, kernel, stride,
    padding, dilation, has_bias, has_added, relu, weight_packed, channels_last);
}

template <class A>
void archive(A& a, Is<SortSpec> auto& s) {
  auto& [dtype, outer, length, inner, count, is_descending] = s;
  a(dtype, outer, length, inner, count, is_descending);
}

template <class A>
void archive(A& a, Is<GroupedProductSpec> auto& s) {
  auto& [along, dtype, ends_dtype, groups, m, n, k, a_group, a_row, a_col, b_group, b_row, b_col,
         ends_stride] = s;
  a(along, dtype, ends_dtype, groups, m, n, k, a_group, a_row, a_col, b_group, b_row, b_col,
    ends_stride);
}

}  // namespace cleave
