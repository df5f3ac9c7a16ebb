// The kernels of gemm_block.h for every type, by the code of gemm_block_code.h, which is included
// before this.

inline GemmBlockKernel kernel_for(DType dtype) {
  switch (dtype) {
    case DType::f64: return kernel_of<double>();
    case DType::f32: return kernel_of<float>();
    case DType::bf16: return kernel_of<Bf16>();
    case DType::f16: return kernel_of<F16>();
    case DType::i64: return kernel_of<int64_t>();
    case DType::i32: return kernel_of<int32_t>();
    case DType::i16: return kernel_of<int16_t>();
    case DType::i8: return kernel_of<int8_t>();
    case DType::u8: return kernel_of<uint8_t>();
    case DType::boolean:
    case DType::c64: break;
  }
  return {};
}
