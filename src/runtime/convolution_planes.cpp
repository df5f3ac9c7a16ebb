#include "runtime/convolution_planes.h"

#include <algorithm>

namespace cleave::runtime {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return (a - ((a % b + b) % b)) / b; }

PhaseDim small_dim(const ConvolutionSpec& s, size_t d) {
  PhaseDim out{0, s.small[d], {}};
  for (int64_t tap = 0; tap < s.kernel[d]; ++tap) {
    const int64_t at = tap * s.dilation[d] - s.padding[d], offset = floor_div(at, s.stride[d]);
    out.taps.push_back({tap, at - offset * s.stride[d], offset});
  }
  return out;
}

}  // namespace

std::vector<PhaseDim> phase_dims(const ConvolutionSpec& s, size_t d) {
  if (s.product != ConvolutionProduct::to_large) return {small_dim(s, d)};
  std::vector<PhaseDim> all;
  for (int64_t r = 0; r < std::min(s.stride[d], s.large[d]); ++r) {
    PhaseDim out{r, (s.large[d] - r + s.stride[d] - 1) / s.stride[d], {}};
    for (int64_t tap = 0; tap < s.kernel[d]; ++tap) {
      const int64_t from = r + s.padding[d] - tap * s.dilation[d];
      if (from % s.stride[d] == 0) out.taps.push_back({tap, 0, from / s.stride[d]});
    }
    all.push_back(std::move(out));
  }
  return all;
}

PlaneLayout plane_layout(const std::vector<PhaseDim> (&phases)[3], const Sizes3& stride,
                         const Sizes3& size) {
  PlaneLayout out;
  out.stride = stride, out.size = size;
  for (size_t d = 0; d < 3; ++d) {
    out.slot_of[d].assign(static_cast<size_t>(stride[d]), -1);
    out.slots[d] = 0;
    bool any = false;
    int64_t last = 0;
    for (const PhaseDim& p : phases[d])
      for (const PhaseDim::Tap& tap : p.taps) {
        int64_t& slot = out.slot_of[d][static_cast<size_t>(tap.residue)];
        if (slot < 0) slot = out.slots[d]++;
        out.first[d] = any ? std::min(out.first[d], tap.offset) : tap.offset;
        last = any ? std::max(last, tap.offset) : tap.offset;
        any = true;
      }
    for (const PhaseDim& p : phases[d])
      out.extent[d] = std::max(out.extent[d], p.count + last - out.first[d]);
  }
  return out;
}

std::vector<PlaneTap> plane_taps(const PlaneLayout& layout, const Sizes3& kernel,
                                 const PhaseDim* const (&dims)[3]) {
  std::vector<PlaneTap> out;
  const auto slot = [&](size_t d, const PhaseDim::Tap& tap) {
    return layout.slot_of[d][static_cast<size_t>(tap.residue)];
  };
  for (const auto& i : dims[0]->taps)
    for (const auto& j : dims[1]->taps)
      for (const auto& k : dims[2]->taps) {
        const int64_t slots =
            (slot(0, i) * layout.slots[1] + slot(1, j)) * layout.slots[2] + slot(2, k);
        const int64_t depth = slots * layout.extent[0] + i.offset - layout.first[0];
        const int64_t row = depth * layout.extent[1] + j.offset - layout.first[1];
        out.push_back({(i.index * kernel[1] + j.index) * kernel[2] + k.index,
                       row * layout.extent[2] + k.offset - layout.first[2]});
      }
  return out;
}

}  // namespace cleave::runtime
