#include "tool/train/masking.h"

#include <algorithm>

#include "base/split_mix.h"

namespace cleave::tool {
namespace {

constexpr int64_t ignored_label = -100;

// In [0, 1), of the upper 53 bits.
double fraction(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

void Masking::apply(int64_t stream, HostTensors& batch) const {
  const int64_t rows = batch[0].shape()[0], time = batch[0].shape()[1];
  int64_t* const ids = batch[0].data<int64_t>();
  int64_t* const labels = batch[1].data<int64_t>();
  const uint64_t key = split_mix(seed + split_mix_step * (2 * static_cast<uint64_t>(stream) + 1));
  // Draw `which` of a place: 0 whether, 1 how, 2 the random token.
  const auto draw = [&](int64_t place, uint64_t which) {
    return split_mix(key + split_mix_step * (3 * static_cast<uint64_t>(place) + which + 1));
  };
  const auto mask = [&](int64_t place) {
    labels[place] = ids[place];
    const double how = fraction(draw(place, 1));
    if (how < 0.8)
      ids[place] = mask_id;
    else if (how < 0.9)
      ids[place] = static_cast<int64_t>(draw(place, 2) % static_cast<uint64_t>(vocabulary));
  };
  for (int64_t row = 0; row < rows; ++row) {
    int64_t drawn = 0, nearest = -1;
    double least = 2;
    for (int64_t place = row * time; place < (row + 1) * time; ++place) {
      labels[place] = ignored_label;
      if (std::ranges::find(never, ids[place]) != never.end()) continue;
      const double u = fraction(draw(place, 0));
      if (u < least) least = u, nearest = place;
      if (u >= probability) continue;
      mask(place);
      ++drawn;
    }
    if (drawn == 0 && nearest >= 0) mask(nearest);
  }
}

}  // namespace cleave::tool
