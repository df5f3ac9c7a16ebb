#include "train/loss_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trace/record.h"

namespace cleave {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
// Of what is below, the inverse may be none of f32.
constexpr double smallest = std::numeric_limits<float>::min();

DType arithmetic_of(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// The number in f32 that `scale` times `factor` is.
Tensor scaled(const Tensor& scale, double factor, Location at) {
  return to(mul(to(scale, DType::f64, at), factor, at), DType::f32, at);
}

}  // namespace

bool scales_loss(const TrainOptions& options) {
  return options.loss_scaling == LossScaling::on ||
         (options.loss_scaling == LossScaling::automatic && options.compile.autocast == DType::f16);
}

void check_loss_scale(const TrainOptions& o, Location at) {
  const auto scale = static_cast<float>(o.init_scale);
  if (!(scale >= smallest) || std::isinf(scale))
    trace::refuse(at, "train_step: init_scale is {}, expected a number of f32, at least {:.3g}",
                  o.init_scale, smallest);
  if (!(o.growth_factor > 1) || std::isinf(o.growth_factor))
    trace::refuse(at, "train_step: growth_factor is {}, expected a number above 1",
                  o.growth_factor);
  if (!(o.backoff_factor > 0 && o.backoff_factor < 1))
    trace::refuse(at, "train_step: backoff_factor is {}, expected a number in (0, 1)",
                  o.backoff_factor);
  if (o.growth_interval < 1 || o.growth_interval > std::numeric_limits<int32_t>::max())
    trace::refuse(at, "train_step: growth_interval is {}, expected 1 to 2147483647",
                  o.growth_interval);
}

LossScale next_scale(const LossScale& now, const Tensor& found, const TrainOptions& o,
                     Location at) {
  const Tensor zero = full({}, 0, DType::i32, at);
  const Tensor count = add(now.count, 1, 1, at);
  const Tensor grows = ge(count, o.growth_interval, at);
  const Tensor grown = scaled(now.scale, o.growth_factor, at);
  const Tensor kept = where(logical_and(grows, lt(grown, inf, at), at), grown, now.scale, at);
  LossScale next;
  const Tensor less = scaled(now.scale, o.backoff_factor, at);
  next.scale = where(found, where(lt(less, smallest, at), now.scale, less, at), kept, at);
  next.count = where(logical_or(found, grows, at), zero, count, at);
  next.skipped = add(now.skipped, to(found, DType::i64, at), 1, at);
  return next;
}

Tensor any_nonfinite(const Tensors& tensors, Location at) {
  const bool wide =
      std::ranges::any_of(tensors, [](const Tensor& t) { return t.dtype() == DType::f64; });
  // The largest of all is nan where one element is.
  Tensors largest;
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) continue;
    const Tensor one = reshape(amax(abs(t, at), {}, false, at), {1}, at);
    largest.push_back(to(one, wide ? DType::f64 : DType::f32, at));
  }
  if (largest.empty()) return zeros({}, DType::boolean, at);
  return logical_not(lt(amax(cat(largest, 0, at), {}, false, at), inf, at), at);
}

Tensors unscaled(const Tensors& gradients, const Tensor& scale, Location at) {
  const Tensor inverse = reciprocal(to(scale, DType::f64, at), at);
  const Tensor narrow = to(inverse, DType::f32, at);
  Tensors out;
  for (const Tensor& g : gradients) {
    const DType type = arithmetic_of(g.dtype());
    out.push_back(mul(to(g, type, at), type == DType::f64 ? inverse : narrow, at));
  }
  return out;
}

}  // namespace cleave
