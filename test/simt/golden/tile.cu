
extern "C" __global__ void __launch_bounds__(256)
k_0(const float *x_, float *y_, int64_t kernel, int64_t *fault) {
  __shared__ alignas(16) float x_tile_[4160];
  const int32_t block5 = blockIdx.x, thread6 = threadIdx.x;
  const int32_t member7 = thread6;
  const int32_t p = block5;
  const int32_t a = (p / 8);
  const int32_t b = (p - (a * 8));
  #pragma unroll 8
  for (int32_t e8 = member7; e8 < 4096; e8 += 256) {
    const int32_t i = (e8 % 64);
    const int32_t j = (e8 / 64);
    x_tile_[((i * 65) + j)] = x_[(((((b * 64) + j) * 512) + (a * 64)) + i)];
  }
  __syncthreads();
  #pragma unroll 8
  for (int32_t e9 = member7; e9 < 4096; e9 += 256) {
    const int32_t j = (e9 % 64);
    const int32_t i = (e9 / 64);
    y_[(((((a * 64) + i) * 512) + (b * 64)) + j)] = x_tile_[((i * 65) + j)];
  }
  __syncthreads();
}
