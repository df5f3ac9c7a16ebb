// How a kernel of gemm_block.h packs a block and where its sums are: the sizes that its scratch is
// computed from. Compiled for every processor: a program may be planned on one that can't run it.
#pragma once
#include <cstdint>

namespace cleave::runtime {

struct GemmSizes {
  int64_t mr = 0, nr = 0;   // rows of a group, columns of a panel
  int64_t max_kc = 0;       // the most of k that are summed in registers
  int64_t span = 0;         // the largest k that is summed without totals in scratch
  int64_t depth = 1;        // values of k that one instruction sums
  int64_t packed_size = 0;  // bytes of a packed number
  int64_t sum_size = 0;     // bytes of a sum
  bool sums_in_c = false;   // else in scratch, from one part of k to the next
  bool sums_are_floats = false;

  bool operator==(const GemmSizes&) const = default;

  static constexpr int64_t rounded(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
  }
  constexpr int64_t line() const { return 64 / packed_size; }  // packed numbers of a cache line

  // How many values of k are summed in registers: equal parts, of whole cache lines.
  constexpr int64_t kc_for(int64_t k) const {
    const int64_t parts = (k + max_kc - 1) / max_kc;
    return parts <= 1 ? k : rounded((k + parts - 1) / parts, line());
  }
  // A long k is cut in spans of this length, whose sums are added to f64 totals in scratch: so the
  // error stays that of a span. 0: k is no longer than a span.
  constexpr int64_t span_of(int64_t k) const {
    const int64_t length = span / max_kc * kc_for(k);
    return sums_are_floats && k > length ? length : 0;
  }
  constexpr int64_t packed_a_elements(int64_t m, int64_t k) const {
    return (m + mr - 1) / mr * mr * rounded(kc_for(k), line());
  }
  constexpr int64_t packed_b_elements(int64_t k) const {
    return rounded(nr * rounded(kc_for(k), depth), line());
  }
  constexpr int64_t packed_bytes(int64_t m, int64_t k) const {
    return rounded((packed_a_elements(m, k) + packed_b_elements(k)) * packed_size, 64);
  }
  constexpr int64_t sums_bytes(int64_t m, int64_t n, int64_t k) const {
    return !sums_in_c && k > max_kc ? rounded(m * rounded(n, nr) * sum_size, 64) : 0;
  }
  constexpr int64_t totals_bytes(int64_t m, int64_t n, int64_t k) const {
    const int64_t totals = span_of(k) > 0 ? m * rounded(n, nr) : 0;
    return rounded(totals * int64_t{sizeof(double)}, 64);
  }
  constexpr int64_t scratch_bytes(int64_t m, int64_t n, int64_t k) const {
    return packed_bytes(m, k) + sums_bytes(m, n, k) + totals_bytes(m, n, k);
  }
  // Of a block whose A is read where it lies.
  constexpr int64_t window_bytes(int64_t m, int64_t n, int64_t k) const {
    return packed_bytes(0, k) + totals_bytes(m, n, k);
  }

  // The rows of a tile that are read where they lie, in groups of neighbours (WindowTile).
  static constexpr int64_t window_groups = 6;
  constexpr int64_t window_group() const { return (mr + window_groups - 1) / window_groups; }
};

}  // namespace cleave::runtime
