// Sorted lines on the device (SortSpec), by merges (device/sort.h): the order of the CPU's.
//
// Errors: Unsupported for c64, and for lines of 2^32 elements; Bug for sizes that contradict each
// other.
#pragma once
#include "backend/cuda/library_device.h"
#include "library/library_function.h"
#include "library/sort_spec.h"

namespace cleave::cuda {

Result<LibraryFunctionPtr> make_sort(const SortSpec& spec, const LibraryDevicePtr& device);

}  // namespace cleave::cuda
