// What kernels call on one element alone: integer division, conversions, Philox. Plain C of the
// fixed-width types, for the emitted text (c_prelude.cpp) and for bytecode.cpp, so that both give
// the same bits.
// clang-format off

static float sin_huge(float x) { return (float)sin((double)x); }
static float cos_huge(float x) { return (float)cos((double)x); }
static float tan_huge(float x) { return (float)tan((double)x); }
static float fmod_any(float x, float y) { return fmodf(x, y); }

#define DIVISIONS(T, U, S)                                                                \
  INLINE T truncdiv_##S(T a, T b) {                                                       \
    return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b; }                                \
  INLINE T truncmod_##S(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; }               \
  INLINE T floordiv_##S(T a, T b) {                                                       \
    T q = truncdiv_##S(a, b), r = truncmod_##S(a, b);                                     \
    return r != 0 && (r < 0) != (b < 0) ? q - 1 : q; }                                    \
  INLINE T floormod_##S(T a, T b) {                                                       \
    T r = truncmod_##S(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r; }          \
  INLINE T pow_##S(T a, T n) {                                                            \
    U r = 1, x = (U)a;                                                                    \
    if (n < 0) return a == 1 ? 1 : a == -1 ? (n & 1 ? -1 : 1) : 0;                        \
    for (; n; n >>= 1, x *= x) if (n & 1) r *= x;                                         \
    return (T)r; }                                                                        \
  INLINE T shl_##S(T a, T n) {                                                            \
    return n < 0 || n >= (T)(8 * sizeof(T)) ? 0 : (T)((U)a << n); }                       \
  INLINE T shr_##S(T a, T n) {                                                            \
    return a >> (n < 0 || n >= (T)(8 * sizeof(T)) ? (T)(8 * sizeof(T) - 1) : n); }
DIVISIONS(int64_t, uint64_t, i64)
DIVISIONS(int32_t, uint32_t, i32)
#define FLOAT_TO_INT(F, S)                                                                \
  INLINE int64_t S##_to_i64(F x) {                                                        \
    return x >= (F)-9223372036854775808.0 && x < (F)9223372036854775808.0                 \
               ? (int64_t)x : (-9223372036854775807L - 1); }                              \
  INLINE int32_t S##_to_i32(F x) {                                                        \
    return x > (F)-2147483904.0 && x < (F)2147483648.0 && (double)x > -2147483649.0       \
               ? (int32_t)x : (-2147483647 - 1); }
FLOAT_TO_INT(float, f32)
FLOAT_TO_INT(double, f64)

// Philox 4x32-10: word `index mod 4` of the block at counter (index/4, stream, step), key = seed.
INLINE int64_t philox(int64_t seed, int64_t step, int64_t stream, int64_t index) {
  uint64_t block = (uint64_t)index >> 2;
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
  uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)step;
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)((uint64_t)seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c0 = n0; c1 = (uint32_t)p1; c2 = n2; c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
  uint32_t low = index & 1 ? c1 : c0, high = index & 1 ? c3 : c2;
  return (int64_t)(index & 2 ? high : low);
}
