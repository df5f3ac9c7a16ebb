// The vector types of 16 lanes, and of 64 where x16 is replaced by x64 (cmake/write_prelude.cmake).
// GCC's vector types: the compiler splits them into the available registers.
// clang-format off

enum { lanes_x16 = 16 };
typedef VECTOR(float, lanes_x16) f32x16;
typedef VECTOR(double, lanes_x16) f64x16;
typedef VECTOR(int64_t, lanes_x16) i64x16;
typedef VECTOR(int32_t, lanes_x16) i32x16;
typedef VECTOR(uint32_t, lanes_x16) u32x16;
typedef VECTOR(uint64_t, lanes_x16) u64x16;
typedef VECTOR(int16_t, lanes_x16) i16x16;
typedef VECTOR(uint16_t, lanes_x16) u16x16;
typedef VECTOR(int8_t, lanes_x16) i8x16;
typedef VECTOR(uint8_t, lanes_x16) u8x16;
#define to_i32x16(v) __builtin_convertvector(v, i32x16)
#define to_i64x16(v) __builtin_convertvector(v, i64x16)
#define to_i16x16(v) __builtin_convertvector(v, i16x16)
#define to_i8x16(v) __builtin_convertvector(v, i8x16)
#define to_u8x16(v) __builtin_convertvector(v, u8x16)
