// The kernels of gemm_block.h for all types, from gemm_block_code.h, which is included before this.
// PackedByte is what 8-bit integers are packed as for sums in 32 bits.

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
          .bytes = kernel_of<int32_t, PackedByte>(),
          .scaled = kernel_of<float, PackedByte>()};
}
