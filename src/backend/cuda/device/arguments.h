// What the kernels of library calls are told: plain numbers, equal on the host and on the device.
// Strides are in elements.
#pragma once

namespace cleave::cuda::device {

using Int = long long;

// GemmSpec, with the strides of C given.
struct ProductArguments {
  Int batch, m, n, k;
  Int a_batch, a_row, a_col;
  Int b_batch, b_row, b_col;
  Int c_in_batch, c_in_row, c_in_col;
  Int c_batch, c_row;
  double alpha, beta;
  struct Scale {
    Int row, col;
  } scales[2];
};

// A matrix for each of `batch` that is read by strides and written row by row without gaps, or, if
// to_row is given, with rows so far apart.
struct CopyArguments {
  Int batch, rows, columns;
  Int from_batch, from_row, from_col;
  Int to_batch, to_row;
};

// HeadStrides.
struct At {
  Int batch, head, row, column;
};

enum MaskKind { no_mask, boolean_mask, f32_mask, bf16_mask, f16_mask };

// AttentionSpec, and what the gradients have more (AttentionBackwardSpec).
struct AttentionArguments {
  Int batch, heads, key_group, value_group, rows, columns, width, value_width;
  At query, key, value, out;
  Int sum_rows;
  float scale;
  int is_causal, mask;
  At mask_at;
  unsigned min_word;  // dropout keeps words (24 bits) from here on; 0: there is none
  float factor;       // of what is kept
  unsigned stream;
  At dout, dquery, dkey, dvalue, dmask;
  int sums_dmask;
};

// Keys or values by strides, and dense with `padded` rows in place of `rows`.
struct PadArguments {
  Int batch, heads, rows, padded, width;
  At at;
};

// A mask by strides, one batch or head where these are 0, and a dense bias with `padded` columns.
struct BiasArguments {
  Int batch, heads, rows, columns, padded;
  At at;
};

// Rows of [batch,heads,rows] beside those of a bias.
struct ClosedRowArguments {
  Int batch, heads, rows, value_width;
  At out;
  BiasArguments bias;
};

// ConvolutionSpec.
struct ConvolutionArguments {
  Int images, large_channels, small_channels, groups;
  Int large[3], small[3], kernel[3], stride[3], padding[3], dilation[3];
  int relu, weight_packed, channels_last;
  // How far a channel and a position, or a tap, are from the next one.
  struct Steps {
    Int channel, position;
  } large_step, small_step, weight_step;
};

struct SortArguments {
  Int outer, length, inner, count;
  int is_descending;
};

}  // namespace cleave::cuda::device
