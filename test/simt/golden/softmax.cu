
extern "C" __global__ void __launch_bounds__(32)
k_0(const float *x_, float *y_, int64_t kernel, int64_t *fault) {
  alignas(16) float x_1[24];
  alignas(16) float y_1[24];
  const int32_t block6 = blockIdx.x, thread7 = threadIdx.x;
  const int32_t member8 = thread7;
  const int32_t p = block6;
  float total9 = (-__builtin_inff());
  const int32_t first11 = (member8 * 8);
  copy_bytes<32>(x_1, &x_[((p * 768) + first11)]);
  copy_bytes<32>(x_1 + 8, &x_[((p * 768) + (first11 + 256))]);
  copy_bytes<32>(x_1 + 16, &x_[((p * 768) + (first11 + 512))]);
  #pragma unroll
  for (int32_t repeat12 = 0; repeat12 < 3; ++repeat12) {
    #pragma unroll
    for (int32_t k13 = 0; k13 < 8; ++k13) {
      total9 = max_f32(total9, x_1[((repeat12 * 8) + k13)]);
    }
  }
  const float other14 = __shfl_xor_sync(team_mask(32), total9, 16, 32);
  total9 = max_f32(total9, other14);
  const float other15 = __shfl_xor_sync(team_mask(32), total9, 8, 32);
  total9 = max_f32(total9, other15);
  const float other16 = __shfl_xor_sync(team_mask(32), total9, 4, 32);
  total9 = max_f32(total9, other16);
  const float other17 = __shfl_xor_sync(team_mask(32), total9, 2, 32);
  total9 = max_f32(total9, other17);
  const float other18 = __shfl_xor_sync(team_mask(32), total9, 1, 32);
  total9 = max_f32(total9, other18);
  const float m = total9;
  double total19 = 0.0;
  #pragma unroll
  for (int32_t repeat23 = 0; repeat23 < 3; ++repeat23) {
    float sum20 = 0.0f;
    #pragma unroll
    for (int32_t k24 = 0; k24 < 8; ++k24) {
      sum20 = (sum20 + exp_f32((x_1[((repeat23 * 8) + k24)] - m)));
    }
    total19 = (total19 + ((double)sum20));
  }
  const double other25 = __shfl_xor_sync(team_mask(32), total19, 16, 32);
  total19 = (total19 + other25);
  const double other26 = __shfl_xor_sync(team_mask(32), total19, 8, 32);
  total19 = (total19 + other26);
  const double other27 = __shfl_xor_sync(team_mask(32), total19, 4, 32);
  total19 = (total19 + other27);
  const double other28 = __shfl_xor_sync(team_mask(32), total19, 2, 32);
  total19 = (total19 + other28);
  const double other29 = __shfl_xor_sync(team_mask(32), total19, 1, 32);
  total19 = (total19 + other29);
  const float s = ((float)total19);
  const int32_t first31 = (member8 * 8);
  #pragma unroll
  for (int32_t repeat32 = 0; repeat32 < 3; ++repeat32) {
    #pragma unroll
    for (int32_t k33 = 0; k33 < 8; ++k33) {
      const int32_t c0 = ((repeat32 * 8) + k33);
      y_1[c0] = (exp_f32((x_1[c0] - m)) / s);
    }
  }
  copy_bytes<32>(&y_[((p * 768) + first31)], y_1);
  copy_bytes<32>(&y_[((p * 768) + (first31 + 256))], y_1 + 8);
  copy_bytes<32>(&y_[((p * 768) + (first31 + 512))], y_1 + 16);
}
