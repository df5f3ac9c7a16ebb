// The kernels of gemm_block.h for all types, from gemm_block_code.h, which is included before this.

consteval GemmBlockKernels all_kernels() {
  return {.f64 = kernel_of<double>(),
          .f32 = kernel_of<float>(),
          .bf16 = kernel_of<Bf16>(),
          .f16 = kernel_of<F16>(),
          .i64 = kernel_of<int64_t>(),
          .i32 = kernel_of<int32_t>(),
          .i16 = kernel_of<int16_t>(),
          .i8 = kernel_of<int8_t>(),
          .u8 = kernel_of<uint8_t>(),
          .scaled = kernel_of<float, uint32_t>()};
}
