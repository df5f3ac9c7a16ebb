#include "ir/strides.h"

#include <algorithm>
#include <numeric>

#include "ir/array.h"

namespace cleave {
namespace {

constexpr int64_t most = int64_t{1} << 62;

int64_t product(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? most : std::min(out, most);
}

int64_t sum(int64_t a, int64_t b) { return a >= most - b ? most : a + b; }

// A dim with more than one element.
struct Dimension {
  int64_t size = 0, stride = 0;
};

// Whether sum_k d_k stride_k = 0 for some |d_k| < size_k, not all 0: d is the difference between
// the indices of two elements at one address. Dims are sorted by decreasing stride; the dims from
// k on can add at most reach_[k] and a multiple of unit_[k].
class Search {
 public:
  explicit Search(std::vector<Dimension> dims)
      : dims_(std::move(dims)), reach_(dims_.size() + 1), unit_(dims_.size() + 1) {
    for (size_t k = dims_.size(); k-- > 0;) {
      const int64_t own = product(dims_[k].size - 1, dims_[k].stride);
      reach_[k] = sum(reach_[k + 1], own);
      unit_[k] = std::gcd(unit_[k + 1], dims_[k].stride);
    }
  }

  bool run() { return found(0, 0, false); }

 private:
  bool found(size_t k, int64_t place, bool differs) {
    if (++steps_ > 1'000'000) return true;
    if (k == dims_.size()) return differs && place == 0;
    if (std::abs(place) > reach_[k] || place % std::max<int64_t>(unit_[k], 1) != 0) return false;
    const auto [size, stride] = dims_[k];
    // The first nonzero d may be taken as positive; each later one must keep the sum within reach
    // of the dims after it.
    const int64_t after = reach_[k + 1];
    const int64_t least = differs ? std::max(1 - size, -((place + after) / stride)) : 0;
    const int64_t last = std::min(size - 1, differs ? (after - place) / stride : after / stride);
    for (int64_t d = least; d <= last; ++d)
      if (found(k + 1, place + d * stride, differs || d != 0)) return true;
    return false;
  }

  std::vector<Dimension> dims_;
  std::vector<int64_t> reach_, unit_;
  int64_t steps_ = 0;
};

}  // namespace

std::vector<int64_t> strides_of(const Type& t) {
  const std::vector<int64_t> shape = static_shape(t);
  std::vector<int64_t> out = row_major(shape);
  if (!t.strides || numel_of(shape) == 0) return out;
  int64_t inner = 1;  // the stride a dense next dim would have
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = shape[d] == 1 ? inner : (*t.strides)[d].value();
    inner = product(shape[d], out[d]);
  }
  return out;
}

int64_t memory_elements(const Type& t) { return extent_of(static_shape(t), strides_of(t)); }
int64_t memory_bytes(const Type& t) { return product(memory_elements(t), size_of(t.dtype)); }

bool is_row_major(const Type& t) {
  if (!t.strides) return true;
  const std::vector<int64_t> shape = static_shape(t), plain = row_major(shape);
  const std::vector<int64_t> strides = strides_of(t);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != plain[d]) return false;
  return true;
}

bool overlaps_itself(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  const int64_t extent = extent_of(shape, strides);
  if (extent == 0) return false;
  std::vector<Dimension> dims;
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (strides[d] == 0) return true;
    dims.push_back({shape[d], strides[d]});
    elements = product(elements, shape[d]);
  }
  if (elements > extent || extent > most / 2) return true;  // sums in the search stay below 2^62
  std::ranges::sort(dims, std::greater(), &Dimension::stride);
  return Search(std::move(dims)).run();
}

bool overlaps_itself(const Type& t) {
  return t.strides && overlaps_itself(static_shape(t), strides_of(t));
}

const Type& returned_type(const Graph& g, size_t k) {
  const Return& r = g.returns()[k];
  return g.type(r.kind == ReturnKind::update ? r.target : r.value);
}

Status check_written(const std::string& name, const Type& t) {
  if (t.is_none || !t.is_static() || !overlaps_itself(t)) return {};
  return user_error(
      "%{} is written, and elements of {} lie in one place, expected strides that keep them apart; "
      "what is only read may overlap",
      name, t.text());
}

}  // namespace cleave
