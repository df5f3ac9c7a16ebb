
extern "C" __global__ void __launch_bounds__(128)
k_0(const float *x_, float *y_, int64_t kernel, int64_t *fault) {
  alignas(16) float s_sum_[4];
  alignas(16) double s_total_[4];
  alignas(16) float x_1[4];
  __shared__ alignas(16) float sums5_[512];
  alignas(16) float y_1[4];
  const int32_t block4 = blockIdx.x, thread5 = threadIdx.x;
  const int32_t member6 = thread5;
  const int32_t p = block4;
  const int32_t split7 = (member6 / 16);
  const int32_t column8 = ((member6 % 16) * 4);
  #pragma unroll
  for (int32_t k9 = 0; k9 < 4; ++k9) {
    s_total_[k9] = 0.0;
  }
  for (int32_t base10 = 0; base10 < 256; base10 += 128) {
    const int32_t begin11 = (base10 + (split7 * 16));
    #pragma unroll
    for (int32_t k12 = 0; k12 < 4; ++k12) {
      s_sum_[k12] = 0.0f;
    }
    #pragma unroll 8
    for (int32_t r = begin11; r < min_i32((begin11 + 16), 256); ++r) {
      if (((column8 + 4) <= min_i32((100 - (p * 64)), 64))) {
        copy_bytes<16>(x_1, &x_[((r * 100) + ((p * 64) + column8))]);
        #pragma unroll
        for (int32_t k13 = 0; k13 < 4; ++k13) {
          const int32_t c = (column8 + k13);
          s_sum_[k13] = (s_sum_[k13] + x_1[k13]);
        }
      }
      else {
        #pragma unroll
        for (int32_t k14 = 0; k14 < 4; ++k14) {
          if (((column8 + k14) < min_i32((100 - (p * 64)), 64))) {
            const int32_t c = (column8 + k14);
            s_sum_[k14] = (s_sum_[k14] + x_[((r * 100) + ((p * 64) + c))]);
          }
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int32_t k15 = 0; k15 < 4; ++k15) {
      sums5_[((column8 + (split7 * 64)) + k15)] = s_sum_[k15];
    }
    __syncthreads();
    #pragma unroll
    for (int32_t k16 = 0; k16 < 4; ++k16) {
      s_total_[k16] = ((((((((s_total_[k16] + ((double)sums5_[(column8 + k16)])) + ((double)sums5_[((column8 + 64) + k16)])) + ((double)sums5_[((column8 + 128) + k16)])) + ((double)sums5_[((column8 + 192) + k16)])) + ((double)sums5_[((column8 + 256) + k16)])) + ((double)sums5_[((column8 + 320) + k16)])) + ((double)sums5_[((column8 + 384) + k16)])) + ((double)sums5_[((column8 + 448) + k16)]));
    }
  }
  #pragma unroll
  for (int32_t k17 = 0; k17 < 4; ++k17) {
    s_sum_[k17] = ((float)s_total_[k17]);
  }
  if ((split7 == 0)) {
    if (((column8 + 4) <= min_i32((100 - (p * 64)), 64))) {
      #pragma unroll
      for (int32_t k18 = 0; k18 < 4; ++k18) {
        y_1[k18] = s_sum_[k18];
      }
      copy_bytes<16>(&y_[((p * 64) + column8)], y_1);
    }
    else {
      #pragma unroll
      for (int32_t k19 = 0; k19 < 4; ++k19) {
        if (((column8 + k19) < min_i32((100 - (p * 64)), 64))) {
          const int32_t c = (column8 + k19);
          y_[((p * 64) + c)] = s_sum_[k19];
        }
      }
    }
  }
  __syncthreads();
}
