
extern "C" __global__ void __launch_bounds__(256)
k_0(const uint16_t *x_, const float *b_, uint16_t *y_, int64_t kernel, int64_t *fault) {
  alignas(16) uint16_t x_1[4];
  alignas(16) float b_1[4];
  alignas(16) uint16_t y_1[4];
  const int32_t block1 = blockIdx.x, thread2 = threadIdx.x;
  const int32_t chunk3 = ((block1 * 256) + thread2);
  const int32_t first4 = (chunk3 * 4);
  copy_bytes<8>(x_1, &x_[first4]);
  copy_bytes<16>(b_1, &b_[first4]);
  #pragma unroll
  for (int32_t k5 = 0; k5 < 4; ++k5) {
    y_1[k5] = store_bf16((load_bf16(x_1[k5]) + b_1[k5]));
  }
  copy_bytes<8>(&y_[first4], y_1);
}
