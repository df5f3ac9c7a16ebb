
extern "C" __global__ void __launch_bounds__(256)
k_0(const float *x_, float *y_, int64_t kernel, int64_t *fault) {
  alignas(16) float s_sum_[4];
  __shared__ alignas(16) float sums3_[1024];
  alignas(16) float x_1[32];
  alignas(16) float y_1[4];
  const int32_t block4 = blockIdx.x, thread5 = threadIdx.x;
  const int32_t member6 = thread5;
  const int32_t p = block4;
  const int32_t split7 = (member6 / 16);
  const int32_t column8 = ((member6 % 16) * 4);
  const int32_t total9 = (member6 % 64);
  double total10 = 0.0;
  for (int32_t base11 = 0; base11 < 256; base11 += 256) {
    const int32_t begin12 = (base11 + (split7 * 16));
    #pragma unroll
    for (int32_t k13 = 0; k13 < 4; ++k13) {
      s_sum_[k13] = 0.0f;
    }
    for (int32_t row14 = begin12; row14 < (begin12 + 16); row14 += 8) {
      if (((column8 + 4) <= min_i32((100 - (p * 64)), 64))) {
        copy_bytes<16>(x_1, &x_[((row14 * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 4, &x_[(((row14 + 1) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 8, &x_[(((row14 + 2) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 12, &x_[(((row14 + 3) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 16, &x_[(((row14 + 4) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 20, &x_[(((row14 + 5) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 24, &x_[(((row14 + 6) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 28, &x_[(((row14 + 7) * 100) + ((p * 64) + column8))]);
        #pragma unroll
        for (int32_t repeat15 = 0; repeat15 < 8; ++repeat15) {
          #pragma unroll
          for (int32_t k16 = 0; k16 < 4; ++k16) {
            const int32_t c = (column8 + k16);
            s_sum_[k16] = (s_sum_[k16] + x_1[((repeat15 * 4) + k16)]);
          }
        }
      }
      else {
        #pragma unroll
        for (int32_t repeat17 = 0; repeat17 < 8; ++repeat17) {
          const int32_t r = (row14 + repeat17);
          #pragma unroll
          for (int32_t k18 = 0; k18 < 4; ++k18) {
            if (((column8 + k18) < min_i32((100 - (p * 64)), 64))) {
              const int32_t c = (column8 + k18);
              s_sum_[k18] = (s_sum_[k18] + x_[((r * 100) + ((p * 64) + c))]);
            }
          }
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int32_t k19 = 0; k19 < 4; ++k19) {
      sums3_[(((split7 * 64) + column8) + k19)] = s_sum_[k19];
    }
    __syncthreads();
    if (((member6 / 64) == 0)) {
      #pragma unroll
      for (int32_t split20 = 0; split20 < 16; ++split20) {
        total10 = (total10 + ((double)sums3_[(total9 + (split20 * 64))]));
      }
    }
  }
  __syncthreads();
  if (((member6 / 64) == 0)) {
    sums3_[total9] = ((float)total10);
  }
  __syncthreads();
  #pragma unroll
  for (int32_t k21 = 0; k21 < 4; ++k21) {
    s_sum_[k21] = sums3_[(column8 + k21)];
  }
  if ((split7 == 0)) {
    if (((column8 + 4) <= min_i32((100 - (p * 64)), 64))) {
      #pragma unroll
      for (int32_t k22 = 0; k22 < 4; ++k22) {
        y_1[k22] = s_sum_[k22];
      }
      copy_bytes<16>(&y_[((p * 64) + column8)], y_1);
    }
    else {
      #pragma unroll
      for (int32_t k23 = 0; k23 < 4; ++k23) {
        if (((column8 + k23) < min_i32((100 - (p * 64)), 64))) {
          const int32_t c = (column8 + k23);
          y_[((p * 64) + c)] = s_sum_[k23];
        }
      }
    }
  }
  __syncthreads();
}
