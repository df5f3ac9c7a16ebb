// Layouts of the same elements in the same order, under another shape.
#pragma once
#include <optional>
#include <vector>

#include "loop/kernel_builder.h"

namespace cleave::loop {

struct Run {  // dims of a memory order that one stride covers
  int64_t size = 1, stride = 1;
};

// Neighbours merged where one continues the next; runs of size 1 vanish.
std::vector<Run> merged_runs(const std::vector<Run>& runs);

// The elements of the runs under a shape of as many; nullopt where a dim would need two runs.
std::optional<Layout> layout_of_runs(const std::vector<Run>& runs,
                                     const std::vector<int64_t>& shape, int64_t offset);

std::optional<Layout> reshaped(const Layout& in, const std::vector<int64_t>& shape);

}  // namespace cleave::loop
