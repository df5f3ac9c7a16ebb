// The layout of the same elements in the same order, with another shape.
#pragma once
#include <optional>
#include <vector>

#include "loop/kernel_builder.h"

namespace cleave::loop {

struct Run {  // adjacent dims that one stride covers
  int64_t size = 1, stride = 1;
};

// Merges neighbours if one continues the next; drops runs of size 1.
std::vector<Run> merged_runs(const std::vector<Run>& runs);

// The layout of the runs' elements in a shape of as many; nullopt if a dim would need two runs.
std::optional<Layout> layout_of_runs(const std::vector<Run>& runs,
                                     const std::vector<int64_t>& shape, int64_t offset);

std::optional<Layout> reshaped(const Layout& in, const std::vector<int64_t>& shape);

}  // namespace cleave::loop
