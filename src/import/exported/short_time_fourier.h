// Transforms of windows of a signal.
//
//   stft   x [b?,l] -> complex [b?,k,f]      f windows of n_fft, hop_length apart, times `window`
//   istft  complex [b?,k,f] -> x [b?,l]      windows are added where they lie, and divided by the
//                                            sum of the squares of `window` there
// k is n_fft, or n_fft / 2 + 1 where it is one-sided.
// Source: aten/src/ATen/native/SpectralOps.cpp, PyTorch 2.13.
#pragma once
#include "import/exported/call.h"

namespace cleave::exported {

Values short_time_transform(Call& c);
Values short_time_inverse(Call& c);

}  // namespace cleave::exported
