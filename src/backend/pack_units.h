// Which kernels are compiled together.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace cleave {

// The unit of each kernel, of `units` whose texts get about the same length: the longest kernel
// first, each into the shortest unit. `bytes`: of each kernel's text; one without a text gets 0. No
// unit is left empty behind one that isn't.
std::vector<size_t> pack_units(std::span<const size_t> bytes, size_t units);

}  // namespace cleave
