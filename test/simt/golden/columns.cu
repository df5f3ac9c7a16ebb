
extern "C" __global__ void __launch_bounds__(256)
k_0(const float *x_, float *y_, int64_t kernel, int64_t *fault) {
  alignas(16) float s_sum_[4];
  alignas(16) double s_total_[4];
  alignas(16) float x_1[32];
  __shared__ alignas(16) float sums5_[1024];
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
  for (int32_t base10 = 0; base10 < 256; base10 += 256) {
    const int32_t begin11 = (base10 + (split7 * 16));
    #pragma unroll
    for (int32_t k12 = 0; k12 < 4; ++k12) {
      s_sum_[k12] = 0.0f;
    }
    for (int32_t row13 = begin11; row13 < (begin11 + 16); row13 += 8) {
      if (((column8 + 4) <= min_i32((100 - (p * 64)), 64))) {
        copy_bytes<16>(x_1, &x_[((row13 * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 4, &x_[(((row13 + 1) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 8, &x_[(((row13 + 2) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 12, &x_[(((row13 + 3) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 16, &x_[(((row13 + 4) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 20, &x_[(((row13 + 5) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 24, &x_[(((row13 + 6) * 100) + ((p * 64) + column8))]);
        copy_bytes<16>(x_1 + 28, &x_[(((row13 + 7) * 100) + ((p * 64) + column8))]);
        #pragma unroll
        for (int32_t repeat14 = 0; repeat14 < 8; ++repeat14) {
          #pragma unroll
          for (int32_t k15 = 0; k15 < 4; ++k15) {
            const int32_t c = (column8 + k15);
            s_sum_[k15] = (s_sum_[k15] + x_1[((repeat14 * 4) + k15)]);
          }
        }
      }
      else {
        #pragma unroll
        for (int32_t repeat16 = 0; repeat16 < 8; ++repeat16) {
          const int32_t r = (row13 + repeat16);
          #pragma unroll
          for (int32_t k17 = 0; k17 < 4; ++k17) {
            if (((column8 + k17) < min_i32((100 - (p * 64)), 64))) {
              const int32_t c = (column8 + k17);
              s_sum_[k17] = (s_sum_[k17] + x_[((r * 100) + ((p * 64) + c))]);
            }
          }
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int32_t k18 = 0; k18 < 4; ++k18) {
      sums5_[((column8 + (split7 * 64)) + k18)] = s_sum_[k18];
    }
    __syncthreads();
    #pragma unroll
    for (int32_t k19 = 0; k19 < 4; ++k19) {
      s_total_[k19] = ((((((((((((((((s_total_[k19] + ((double)sums5_[(column8 + k19)])) + ((double)sums5_[((column8 + 64) + k19)])) + ((double)sums5_[((column8 + 128) + k19)])) + ((double)sums5_[((column8 + 192) + k19)])) + ((double)sums5_[((column8 + 256) + k19)])) + ((double)sums5_[((column8 + 320) + k19)])) + ((double)sums5_[((column8 + 384) + k19)])) + ((double)sums5_[((column8 + 448) + k19)])) + ((double)sums5_[((column8 + 512) + k19)])) + ((double)sums5_[((column8 + 576) + k19)])) + ((double)sums5_[((column8 + 640) + k19)])) + ((double)sums5_[((column8 + 704) + k19)])) + ((double)sums5_[((column8 + 768) + k19)])) + ((double)sums5_[((column8 + 832) + k19)])) + ((double)sums5_[((column8 + 896) + k19)])) + ((double)sums5_[((column8 + 960) + k19)]));
    }
  }
  #pragma unroll
  for (int32_t k20 = 0; k20 < 4; ++k20) {
    s_sum_[k20] = ((float)s_total_[k20]);
  }
  if ((split7 == 0)) {
    if (((column8 + 4) <= min_i32((100 - (p * 64)), 64))) {
      #pragma unroll
      for (int32_t k21 = 0; k21 < 4; ++k21) {
        y_1[k21] = s_sum_[k21];
      }
      copy_bytes<16>(&y_[((p * 64) + column8)], y_1);
    }
    else {
      #pragma unroll
      for (int32_t k22 = 0; k22 < 4; ++k22) {
        if (((column8 + k22) < min_i32((100 - (p * 64)), 64))) {
          const int32_t c = (column8 + k22);
          y_[((p * 64) + c)] = s_sum_[k22];
        }
      }
    }
  }
  __syncthreads();
}
