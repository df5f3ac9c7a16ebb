#include <algorithm>
#include <cstring>

#include "runtime/convolution_depthwise.h"

namespace cleave::runtime {
namespace {

constexpr int64_t cache_bytes = 192 << 10;

}  // namespace

int64_t DepthwiseDim::most_positions() const {
  int64_t most = 0;
  for (const PhaseDim& p : phases) most = std::max(most, p.count);
  return most;
}

DepthwiseDim depthwise_dim(const ConvolutionSpec& s, size_t d) {
  DepthwiseDim out{phase_dims(s, d), s.product == ConvolutionProduct::to_large ? 1 : s.stride[d]};
  for (const PhaseDim& p : out.phases)
    for (const PhaseDim::Tap& tap : p.taps) {
      out.first = std::min(out.first, out.at(tap));
      out.last = std::max(out.last, out.at(tap));
    }
  return out;
}

DepthwiseBand::DepthwiseBand(const ConvolutionSpec& spec, int64_t image_height, int64_t image_width)
    : rows(depthwise_dim(spec, 1)), columns(depthwise_dim(spec, 2)), height(image_height),
      width(image_width),
      row(std::max(columns.span(columns.most_positions()), width - columns.first)) {}

int64_t DepthwiseBand::rows_that_fit(int64_t result_row, int64_t lane_bytes) const {
  const int64_t most = rows.most_positions();
  int64_t count = 1;
  while (count < most &&
         (rows.span(count + 1) * row + (count + 1) * result_row) * lane_bytes <= cache_bytes)
    ++count;
  return count;
}

void DepthwiseBand::fill(const DirectKernel& kernel, int64_t bytes, int64_t first, int64_t count,
                         const char* image, int64_t channels, char* band, int64_t sum_bytes) const {
  const int64_t begin = first * rows.step + rows.first, end = begin + rows.span(count);
  const int64_t inside = std::clamp<int64_t>(0, begin, end);
  const int64_t inside_end = std::clamp(height, inside, end);
  const int64_t row_bytes = row * kernel.lanes * sum_bytes;
  std::memset(band, 0, static_cast<size_t>((inside - begin) * row_bytes));
  kernel.lanes_in({.image = const_cast<char*>(image) + inside * width * bytes,
                   .plane = height * width,
                   .channels = channels,
                   .positions = (inside_end - inside) * width,
                   .at = band + ((inside - begin) * row - columns.first) * kernel.lanes * sum_bytes,
                   .row = width,
                   .at_row = row * kernel.lanes});
  std::memset(band + (inside_end - begin) * row_bytes, 0,
              static_cast<size_t>((end - inside_end) * row_bytes));
}

}  // namespace cleave::runtime
