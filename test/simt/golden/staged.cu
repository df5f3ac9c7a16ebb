
extern "C" __global__ void __launch_bounds__(256)
k_0(const uint16_t *x_, float *m_, float *s_, int64_t kernel, int64_t *fault) {
  extern __shared__ uint4 shared[];
  uint16_t *const x_row_ = (uint16_t *)(shared + 0);
  alignas(16) uint16_t x_2[8];
  float *const sums6_ = (float *)(shared + 3816);
  alignas(16) uint16_t x_4[8];
  double *const sums9_ = (double *)(shared + 3824);
  const int32_t block5 = blockIdx.x, thread6 = threadIdx.x;
  const int32_t member7 = thread6;
  const int32_t p = block5;
  float total8 = (-__builtin_inff());
  #pragma unroll 4
  for (int32_t slot11 = 0; slot11 < 15; ++slot11) {
    const int32_t chunk12 = (member7 + (slot11 * 256));
    const int32_t first10 = (chunk12 * 8);
    if (((first10 + 8) <= 30522)) {
      copy_ahead<16>(&x_row_[first10], &x_[((p * 30528) + first10)]);
    }
  }
  wait_for_copies();
  for (int32_t slot13 = 0; slot13 < 15; ++slot13) {
    const int32_t chunk9 = (member7 + (slot13 * 256));
    if ((chunk9 < 3816)) {
      const int32_t first14 = (chunk9 * 8);
      if (((first14 + 8) <= 30522)) {
        copy_bytes<16>(x_2, &x_row_[first14]);
        #pragma unroll
        for (int32_t k15 = 0; k15 < 8; ++k15) {
          total8 = max_f32(total8, load_bf16(x_2[k15]));
        }
      }
      else {
        for (int32_t k16 = 0; k16 < 8; ++k16) {
          if (((first14 + k16) < 30522)) {
            const int32_t r = (first14 + k16);
            total8 = max_f32(total8, load_bf16(x_[((p * 30528) + r)]));
          }
        }
      }
    }
  }
  const float other17 = __shfl_xor_sync(team_mask(32), total8, 16, 32);
  total8 = max_f32(total8, other17);
  const float other18 = __shfl_xor_sync(team_mask(32), total8, 8, 32);
  total8 = max_f32(total8, other18);
  const float other19 = __shfl_xor_sync(team_mask(32), total8, 4, 32);
  total8 = max_f32(total8, other19);
  const float other20 = __shfl_xor_sync(team_mask(32), total8, 2, 32);
  total8 = max_f32(total8, other20);
  const float other21 = __shfl_xor_sync(team_mask(32), total8, 1, 32);
  total8 = max_f32(total8, other21);
  __syncthreads();
  if (((thread6 % 32) == 0)) {
    sums6_[(thread6 / 32)] = total8;
  }
  __syncthreads();
  total8 = sums6_[(thread6 % 8)];
  const float other22 = __shfl_xor_sync(team_mask(32), total8, 4, 32);
  total8 = max_f32(total8, other22);
  const float other23 = __shfl_xor_sync(team_mask(32), total8, 2, 32);
  total8 = max_f32(total8, other23);
  const float other24 = __shfl_xor_sync(team_mask(32), total8, 1, 32);
  total8 = max_f32(total8, other24);
  const float m = total8;
  double total25 = 0.0;
  for (int32_t slot29 = 0; slot29 < 15; ++slot29) {
    const int32_t chunk27 = (member7 + (slot29 * 256));
    if ((chunk27 < 3816)) {
      const int32_t first30 = (chunk27 * 8);
      if (((first30 + 8) <= 30522)) {
        copy_bytes<16>(x_4, &x_row_[first30]);
        float sum26 = 0.0f;
        #pragma unroll
        for (int32_t k31 = 0; k31 < 8; ++k31) {
          sum26 = (sum26 + exp_f32((load_bf16(x_4[k31]) - m)));
        }
        total25 = (total25 + ((double)sum26));
      }
      else {
        float sum26 = 0.0f;
        for (int32_t k32 = 0; k32 < 8; ++k32) {
          if (((first30 + k32) < 30522)) {
            const int32_t r2 = (first30 + k32);
            sum26 = (sum26 + exp_f32((load_bf16(x_[((p * 30528) + r2)]) - m)));
          }
        }
        total25 = (total25 + ((double)sum26));
      }
    }
  }
  const double other33 = __shfl_xor_sync(team_mask(32), total25, 16, 32);
  total25 = (total25 + other33);
  const double other34 = __shfl_xor_sync(team_mask(32), total25, 8, 32);
  total25 = (total25 + other34);
  const double other35 = __shfl_xor_sync(team_mask(32), total25, 4, 32);
  total25 = (total25 + other35);
  const double other36 = __shfl_xor_sync(team_mask(32), total25, 2, 32);
  total25 = (total25 + other36);
  const double other37 = __shfl_xor_sync(team_mask(32), total25, 1, 32);
  total25 = (total25 + other37);
  __syncthreads();
  if (((thread6 % 32) == 0)) {
    sums9_[(thread6 / 32)] = total25;
  }
  __syncthreads();
  total25 = sums9_[(thread6 % 8)];
  const double other38 = __shfl_xor_sync(team_mask(32), total25, 4, 32);
  total25 = (total25 + other38);
  const double other39 = __shfl_xor_sync(team_mask(32), total25, 2, 32);
  total25 = (total25 + other39);
  const double other40 = __shfl_xor_sync(team_mask(32), total25, 1, 32);
  total25 = (total25 + other40);
  const float s = ((float)total25);
  if ((member7 == 0)) {
    m_[p] = m;
  }
  if ((member7 == 0)) {
    s_[p] = s;
  }
}
