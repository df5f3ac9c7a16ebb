#include "exec/sample_sizes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

namespace cleave {
namespace {

constexpr size_t most_more = 8;

// Numbers in [0, 1) that fill it evenly: multiples of an irrational number for each dimension.
double fraction(size_t k, size_t dimension) {
  constexpr std::array primes = {2.0, 3.0, 5.0, 7.0, 11.0, 13.0};
  double whole = 0;
  return std::modf(static_cast<double>(k + 1) * std::sqrt(primes[dimension % primes.size()]),
                   &whole);
}

class SampleChoice {
 public:
  explicit SampleChoice(const InputSizes& sizes) : most_(sizes.largest()), least_(sizes.least()) {
    known_.insert(most_);
  }

  SampleSizes all() {
    for (size_t d = 0; d < most_.size(); ++d) {
      with(d, most_[d] - 1);
      const int64_t middle = (least_[d] + most_[d]) / 2;
      with(d, middle | 1);
      with(d, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(middle))));
      with(d, 2);
      with(d, 1);
    }
    if (most_.size() > 1) {
      for (const int64_t size : {1, 2, 3})
        add(out_.first, each([&](int64_t, int64_t) { return size; }));
      add(out_.first, each([](int64_t, int64_t most) { return most - 1; }));
    }
    for (size_t k = 0; k < most_more; ++k) {
      size_t d = 0;
      add(out_.more, each([&](int64_t least, int64_t most) {
            // Evenly in the logarithm.
            const auto low = static_cast<double>(std::max<int64_t>(least, 2));
            const double size = low * std::pow(static_cast<double>(most) / low, fraction(k, d++));
            return static_cast<int64_t>(size);
          }));
    }
    return std::move(out_);
  }

 private:
  void with(size_t d, int64_t size) {
    std::vector<int64_t> sample = most_;
    sample[d] = size;
    if (size >= least_[d] && size <= most_[d]) add(out_.first, std::move(sample));
  }
  template <class F>
  std::vector<int64_t> each(const F& f) const {
    std::vector<int64_t> out;
    for (size_t d = 0; d < most_.size(); ++d)
      out.push_back(std::clamp(f(least_[d], most_[d]), least_[d], most_[d]));
    return out;
  }
  void add(std::vector<std::vector<int64_t>>& to, std::vector<int64_t> sample) {
    if (known_.insert(sample).second) to.push_back(std::move(sample));
  }

  const std::vector<int64_t> most_, least_;
  std::set<std::vector<int64_t>> known_;
  SampleSizes out_;
};

}  // namespace

std::vector<std::vector<int64_t>> sizes_beside(const InputSizes& sizes,
                                               const std::vector<int64_t>& these) {
  const std::vector<int64_t> most = sizes.largest(), least = sizes.least();
  std::vector<std::vector<int64_t>> out;
  for (const int64_t step : {1, -1}) {
    std::vector<int64_t> beside = these;
    for (size_t d = 0; d < beside.size(); ++d) {
      if (least[d] < most[d])
        beside[d] = std::clamp(these[d] + step, least[d], most[d]);
      else if (these[d] != most[d])  // a number that has grown
        beside[d] = std::max<int64_t>(these[d] + step, 1);
    }
    if (beside != these) out.push_back(std::move(beside));
  }
  return out;
}

SampleSizes sample_sizes(const InputSizes& sizes) { return SampleChoice(sizes).all(); }

}  // namespace cleave
