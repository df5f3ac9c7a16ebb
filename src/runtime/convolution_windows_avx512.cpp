// convolution_windows.h for f32, bf16 and f16 with AVX-512.
#include "runtime/convolution_walk.h"
#include "runtime/convolution_windows.h"
#include "runtime/half.h"

#if defined(__x86_64__)
#include "runtime/avx512_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/transpose_avx512.h"

struct Lanes {
  static constexpr int64_t count = 16;
  using Floats = __m512;
  using Ints = __m512i;
  using Mask = __mmask16;

  static Floats zero() { return _mm512_setzero_ps(); }
  static void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
  static Ints broadcast(int64_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Ints multiples(int64_t of) {
    return _mm512_mullo_epi32(
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), broadcast(of));
  }
  static Ints add(Ints x, Ints y) { return _mm512_add_epi32(x, y); }
  static Ints choose(Mask mask, Ints x, Ints y) { return _mm512_mask_mov_epi32(y, mask, x); }

  static Mask mask_of(int64_t first, int64_t count) {
    return static_cast<Mask>(((1u << count) - 1u) << first);
  }
  static Mask both(Mask a, Mask b) { return static_cast<Mask>(a & b); }
  static Mask either(Mask a, Mask b) { return static_cast<Mask>(a | b); }
  static Mask in_range(Mask mask, Ints x, int64_t size) {
    return _mm512_mask_cmplt_epu32_mask(mask, x, broadcast(size));
  }

  static bool is_full(Mask mask) { return mask == 0xffff; }
  static Floats load(const float* from) { return _mm512_loadu_ps(from); }
  static Floats load(Floats x, Mask mask, const float* from) {
    return _mm512_mask_loadu_ps(x, mask, from);
  }
  static Floats gather(Mask mask, Ints index, const float* from) {
    return _mm512_mask_i32gather_ps(zero(), mask, index, from, 4);
  }
  // Elements 0, 2, .. 14 are in one load, 16, 18, .. 30 in the other.
  struct EveryOther {
    Mask lanes, low, high;
  };
  static EveryOther every_other(Mask mask) {
    const auto spread = [](uint32_t lanes) {  // a bit to each even place
      lanes = (lanes | lanes << 4) & 0x0f0fu;
      lanes = (lanes | lanes << 2) & 0x3333u;
      return static_cast<Mask>((lanes | lanes << 1) & 0x5555u);
    };
    return {mask, spread(mask & 0xffu), spread(mask >> 8u)};
  }
  static Floats load_every_other(Floats x, const EveryOther& e, const float* from) {
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512 low = _mm512_maskz_loadu_ps(e.low, from);
    const __m512 high = _mm512_maskz_loadu_ps(e.high, from + count);
    return _mm512_mask_mov_ps(x, e.lanes, _mm512_permutex2var_ps(low, even, high));
  }

  // Halves: bf16 is the upper half of a f32. H: Bf16 or F16.
  static Floats widened(__m256i halves, const Bf16*) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static Floats widened(__m256i halves, const F16*) { return _mm512_cvtph_ps(halves); }
  template <class H>
  static Floats load(const H* from) {
    return widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), from);
  }
  template <class H>
  static Floats load(Floats x, Mask mask, const H* from) {
    return _mm512_mask_mov_ps(x, mask, widened(_mm256_maskz_loadu_epi16(mask, from), from));
  }
  // One by one: a gather would read the element behind.
  template <class H>
  static Floats gather(Mask mask, Ints index, const H* from) {
    alignas(64) int32_t at[count];
    alignas(32) uint16_t halves[count] = {};
    _mm512_store_si512(at, index);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const int lane = __builtin_ctz(left);
      halves[lane] = __builtin_bit_cast(uint16_t, from[at[lane]]);
    }
    return widened(_mm256_load_si256(reinterpret_cast<const __m256i*>(halves)), from);
  }
  template <class H>
  static Floats load_every_other(Floats x, const EveryOther& e, const H* from) {
    const auto both = static_cast<__mmask32>(e.low | static_cast<uint32_t>(e.high) << 16);
    const __m512i pairs = _mm512_maskz_loadu_epi16(both, from);
    return _mm512_mask_mov_ps(x, e.lanes, widened(_mm512_cvtepi32_epi16(pairs), from));
  }
};

#include "runtime/convolution_windows_code.h"

}  // namespace

constinit const WindowPacking window_packing_avx512 = {pack_windows<float>, pack_transposed<float>};
constinit const WindowPacking window_packing_avx512_bf16 = {pack_windows<Bf16>,
                                                            pack_transposed<Bf16>};
constinit const WindowPacking window_packing_avx512_f16 = {pack_windows<F16>, pack_transposed<F16>};

}  // namespace cleave::runtime

#include "runtime/target_end.h"
#else
namespace cleave::runtime {
constinit const WindowPacking window_packing_avx512 = {};
constinit const WindowPacking window_packing_avx512_bf16 = {};
constinit const WindowPacking window_packing_avx512_f16 = {};
}  // namespace cleave::runtime
#endif
