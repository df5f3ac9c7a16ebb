// convolution_windows.h for f32, bf16 and f16 with AVX2.
#include "runtime/convolution_walk.h"
#include "runtime/convolution_windows.h"
#include "runtime/half.h"

#if defined(__x86_64__)
#include "runtime/avx2_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/transpose_avx2.h"

struct Lanes {
  static constexpr int64_t count = 8;
  using Floats = __m256;
  using Ints = __m256i;
  using Mask = __m256i;  // -1 or 0 in a lane

  static Floats zero() { return _mm256_setzero_ps(); }
  static void store(float* to, Floats x) { _mm256_storeu_ps(to, x); }
  static Ints broadcast(int64_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Ints numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static Ints multiples(int64_t of) { return _mm256_mullo_epi32(numbers(), broadcast(of)); }
  static Ints add(Ints x, Ints y) { return _mm256_add_epi32(x, y); }
  static Ints choose(Mask mask, Ints x, Ints y) { return _mm256_blendv_epi8(y, x, mask); }

  static Mask mask_of(int64_t first, int64_t count) {
    return in_range(broadcast(-1), _mm256_sub_epi32(numbers(), broadcast(first)), count);
  }
  static Mask both(Mask a, Mask b) { return _mm256_and_si256(a, b); }
  static Mask either(Mask a, Mask b) { return _mm256_or_si256(a, b); }
  static Mask in_range(Mask mask, Ints x, int64_t size) {
    const Mask below = _mm256_cmpgt_epi32(broadcast(size), x);
    return both(mask, both(below, _mm256_cmpgt_epi32(x, broadcast(-1))));
  }

  static bool is_full(Mask mask) { return _mm256_movemask_ps(_mm256_castsi256_ps(mask)) == 0xff; }
  static Floats load(const float* from) { return _mm256_loadu_ps(from); }
  // The other lanes of x are 0 where the mask has lanes.
  static Floats load(Floats x, Mask mask, const float* from) {
    return _mm256_or_ps(x, _mm256_maskload_ps(from, mask));
  }
  static Floats gather(Mask mask, Ints index, const float* from) {
    return _mm256_mask_i32gather_ps(zero(), from, index, _mm256_castsi256_ps(mask), 4);
  }
  // Elements 0, 2, 4, 6 are in one load, 8, 10, 12, 14 in the other.
  struct EveryOther {
    Mask lanes, low, high;
  };
  static EveryOther every_other(Mask mask) {
    const auto spread = [&](int first) {
      const Ints lane = _mm256_setr_epi32(first, first, first + 1, first + 1, first + 2, first + 2,
                                          first + 3, first + 3);
      return both(_mm256_permutevar8x32_epi32(mask, lane),
                  _mm256_setr_epi32(-1, 0, -1, 0, -1, 0, -1, 0));
    };
    return {mask, spread(0), spread(4)};
  }
  static Floats load_every_other(Floats x, const EveryOther& e, const float* from) {
    const Floats low = _mm256_maskload_ps(from, e.low);
    const Floats high = _mm256_maskload_ps(from + count, e.high);
    const __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0x88));
    return _mm256_or_ps(x, _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8)));
  }

  // Halves: bf16 is the upper half of a f32. H: Bf16 or F16. Those of a mask are read one by one,
  // as there are no masked loads of them.
  static Floats widened(__m128i halves, const Bf16*) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static Floats widened(__m128i halves, const F16*) { return _mm256_cvtph_ps(halves); }
  template <class H, class At>
  static Floats one_by_one(Mask mask, const H* from, const At& at) {
    alignas(16) uint16_t halves[count] = {};
    auto left = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
    for (; left != 0; left &= left - 1) {
      const int lane = __builtin_ctz(left);
      halves[lane] = __builtin_bit_cast(uint16_t, from[at(lane)]);
    }
    return widened(_mm_load_si128(reinterpret_cast<const __m128i*>(halves)), from);
  }
  template <class H>
  static Floats load(const H* from) {
    return widened(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), from);
  }
  template <class H>
  static Floats load(Floats x, Mask mask, const H* from) {
    return _mm256_or_ps(x, one_by_one(mask, from, [](int lane) { return lane; }));
  }
  template <class H>
  static Floats gather(Mask mask, Ints index, const H* from) {
    alignas(32) int32_t at[count];
    _mm256_store_si256(reinterpret_cast<__m256i*>(at), index);
    return one_by_one(mask, from, [&](int lane) { return at[lane]; });
  }
  template <class H>
  static Floats load_every_other(Floats x, const EveryOther& e, const H* from) {
    return _mm256_or_ps(x, one_by_one(e.lanes, from, [](int lane) { return 2 * lane; }));
  }
};

#include "runtime/convolution_windows_code.h"

}  // namespace

constinit const WindowPacking window_packing_avx2 = {pack_windows<float>, pack_transposed<float>};
constinit const WindowPacking window_packing_avx2_bf16 = {pack_windows<Bf16>,
                                                          pack_transposed<Bf16>};
constinit const WindowPacking window_packing_avx2_f16 = {pack_windows<F16>, pack_transposed<F16>};

}  // namespace cleave::runtime

#include "runtime/target_end.h"
#else
namespace cleave::runtime {
constinit const WindowPacking window_packing_avx2 = {};
constinit const WindowPacking window_packing_avx2_bf16 = {};
constinit const WindowPacking window_packing_avx2_f16 = {};
}  // namespace cleave::runtime
#endif
