#include "tool/train/run_model.h"

namespace cleave::tool {

int64_t RunModel::batch_units() const {
  int64_t units = 1;
  const InputSpec& first = inputs.front();
  const std::vector<int64_t>& shape = first.shape;
  for (size_t d = 0; d < (is_of_images() ? 1 : shape.size()); ++d) units *= shape[d];
  return units;
}

}  // namespace cleave::tool
