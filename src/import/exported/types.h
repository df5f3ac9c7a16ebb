// Types of the graph from those of the file.
#pragma once
#include "import/exported/program.h"
#include "ir/type.h"

namespace cleave::exported {

// dtype and sizes, of a complex tensor those of its parts; on the CPU, row-major, wherever the
// file's tensor lay. Errors (unsupported): a dtype that cleave doesn't have, a sparse layout.
Result<Type> type_of(const TensorMeta& meta);

}  // namespace cleave::exported
