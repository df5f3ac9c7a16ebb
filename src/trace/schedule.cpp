// Learning rates by step.
#include <cmath>
#include <numbers>

#include "cleave/optim.h"

namespace cleave::optim {

namespace {

double warmed_up(int64_t step, double peak, int64_t warmup) {
  return peak * (static_cast<double>(step) + 1) / static_cast<double>(warmup);
}

// 0 at the end of the warm-up, 1 at `total`.
double progress(int64_t step, int64_t warmup, int64_t total) {
  const auto begin = static_cast<double>(warmup);
  return (static_cast<double>(step) - begin) / (static_cast<double>(total) - begin);
}

}  // namespace

double constant(int64_t step, double peak, int64_t warmup) {
  return step < warmup ? warmed_up(step, peak, warmup) : peak;
}

double linear(int64_t step, double peak, int64_t warmup, int64_t total, double final) {
  if (step < warmup) return warmed_up(step, peak, warmup);
  if (step >= total) return final;
  return std::lerp(peak, final, progress(step, warmup, total));
}

double cosine(int64_t step, double peak, int64_t warmup, int64_t total, double final) {
  if (step < warmup) return warmed_up(step, peak, warmup);
  if (step >= total) return final;
  return final +
         (peak - final) * 0.5 * (1 + std::cos(std::numbers::pi * progress(step, warmup, total)));
}

}  // namespace cleave::optim
