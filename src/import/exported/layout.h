// Where the elements of tensors lie, as far as a .pt2 file says: sizes and strides may have
// symbols.
#pragma once
#include "import/exported/program.h"

namespace cleave::exported {

// Row by row; strides of dims of size 1 mean nothing.
bool is_row_major(const TensorMeta& m);
// The same sizes and strides.
bool has_same_layout(const TensorMeta& a, const TensorMeta& b);
// Sizes and strides are numbers.
bool is_known_layout(const TensorMeta& m);

}  // namespace cleave::exported
