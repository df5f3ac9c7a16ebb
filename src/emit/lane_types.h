// The vector types of 16 lanes, and of 64 where x16 is replaced by x64 (cmake/write_prelude.cmake).
// GCC's vector types: the compiler splits them into the available registers.
// clang-format off

enum { lanes_x16 = 16 };
typedef float f32x16 __attribute__((vector_size(lanes_x16 * sizeof(float))));
typedef double f64x16 __attribute__((vector_size(lanes_x16 * sizeof(double))));
typedef int64_t i64x16 __attribute__((vector_size(lanes_x16 * sizeof(int64_t))));
typedef int32_t i32x16 __attribute__((vector_size(lanes_x16 * sizeof(int32_t))));
typedef uint32_t u32x16 __attribute__((vector_size(lanes_x16 * sizeof(uint32_t))));
typedef uint64_t u64x16 __attribute__((vector_size(lanes_x16 * sizeof(uint64_t))));
typedef int16_t i16x16 __attribute__((vector_size(lanes_x16 * sizeof(int16_t))));
typedef uint16_t u16x16 __attribute__((vector_size(lanes_x16 * sizeof(uint16_t))));
typedef int8_t i8x16 __attribute__((vector_size(lanes_x16 * sizeof(int8_t))));
typedef uint8_t u8x16 __attribute__((vector_size(lanes_x16 * sizeof(uint8_t))));
#define to_i32x16(v) __builtin_convertvector(v, i32x16)
#define to_i64x16(v) __builtin_convertvector(v, i64x16)
#define to_i16x16(v) __builtin_convertvector(v, i16x16)
#define to_i8x16(v) __builtin_convertvector(v, i8x16)
#define to_u8x16(v) __builtin_convertvector(v, u8x16)
