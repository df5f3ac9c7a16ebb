// Concrete tensors of the oracle: floating elements are float64, integers and booleans int64.
#pragma once
#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "cleave/dtype.h"

namespace cleave {

struct Array {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<double> f;   // floating dtypes, row-major
  std::vector<int64_t> i;  // all others, row-major

  Array() = default;
  Array(DType d, std::vector<int64_t> s);  // filled with zeros

  bool floating() const { return is_floating(dtype); }
  int64_t numel() const { return static_cast<int64_t>(floating() ? f.size() : i.size()); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  // Element k as float64, whatever the dtype.
  double number(int64_t k) const { return floating() ? f[k] : static_cast<double>(i[k]); }
  // Stores x in the array's dtype: integers wrap, booleans become x != 0, floats are not rounded.
  void set(int64_t k, double x);
  void set_int(int64_t k, int64_t x);
};

using Arrays = std::vector<Array>;

// Rounds x to the nearest value of a narrower floating type (ties to even), as float64.
double round_to(DType t, double x);
// Wraps x to an integer type's width (two's complement); a boolean is x != 0.
int64_t wrap_to(DType t, int64_t x);
// Converts float64 to an integer by truncation, as a C cast does; NaN and values out of range give
// the minimum, as on x86.
int64_t truncate_to(DType t, double x);

// Advances a multi-index; returns false after the last one.
bool next_index(std::vector<int64_t>& index, const std::vector<int64_t>& shape);
// The row-major position of `index` in `shape`, which is broadcast from the right: dims of size 1
// and missing leading dims repeat.
int64_t broadcast_position(const std::vector<int64_t>& index, const std::vector<int64_t>& shape);

}  // namespace cleave
