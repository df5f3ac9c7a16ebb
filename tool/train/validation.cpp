#include "tool/train/validation.h"

#include "tool/interrupt.h"
#include "tool/train/program_options.h"

namespace cleave::tool {

std::optional<double> Validation::mean_loss() {
  if (!is_compiled_)
    program_ = compile(model_.module, model_.loss, model_.inputs, options_, no_line);
  is_compiled_ = true;
  const int64_t batches = data_.held_out_batches();
  double sum = 0, weights = 0;
  for (int64_t b = 0; b < batches; ++b) {
    if (InterruptGuard::is_set()) return std::nullopt;
    const auto [inputs, weight] = data_.held_out_batch(b);
    const InputRef refs[] = {(*inputs)[0], (*inputs)[1]};
    program_.run_in_place(refs);
    sum += weight * program_.output_view(0).item();
    weights += weight;
  }
  return sum / weights;
}

}  // namespace cleave::tool
