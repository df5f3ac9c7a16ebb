// The windows of images as panels of a matrix product, read from the images themselves: the matrix
// that im2col would write, a panel at a time.
//
//   B[(channel, tap), (image, position)] = image[channel, position * stride + tap]
//
// Positions form a grid, each tap is an offset. Elements outside the image are zeros. Columns are
// numbered through all images of the batch.
#pragma once
#include "cleave/target.h"
#include "library/convolution_spec.h"

namespace cleave::runtime {

inline int64_t product_of(const Sizes3& s) { return s[0] * s[1] * s[2]; }

struct WindowSource {
  const void* images = nullptr;  // the first channel of the first image
  int64_t image_stride = 0;      // elements
  Sizes3 size = {1, 1, 1};       // of an image; channels follow each other without gaps
  Sizes3 positions = {1, 1, 1};
  Sizes3 stride = {1, 1, 1};
  const Sizes3* taps = nullptr;
  int64_t tap_count = 0;
  int64_t nr = 0;       // numbers in a row of a panel
  int64_t first_k = 0;  // for `transposed`: the position at which k = 0 is
};

// Functions for PanelSource::pack (gemm_block.h); self is a WindowSource.
struct WindowPacking {
  using Pack = void (*)(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                        int64_t columns, void* to);
  Pack windows = nullptr;     // k is (channel, tap), columns are (image, position)
  Pack transposed = nullptr;  // k is (image, position), columns are (channel, tap)
};

// The fastest for processors with this set, this distance between images in elements, and this
// width of panels; null for dtypes that aren't floating.
WindowPacking window_packing(DType dtype, int64_t image_stride, int64_t nr, InstructionSet set);

// For any processor, and for f32, bf16 and f16 with AVX2 and AVX-512 (null if they weren't compiled
// in).
WindowPacking window_packing_plain(DType dtype);
extern const WindowPacking window_packing_avx2, window_packing_avx2_bf16, window_packing_avx2_f16;
extern const WindowPacking window_packing_avx512, window_packing_avx512_bf16,
    window_packing_avx512_f16;

}  // namespace cleave::runtime
