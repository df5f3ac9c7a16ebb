// The line of the model that a node came from.
#pragma once
#include <string_view>

#include "import/exported/program.h"

namespace cleave::exported {

// The innermost line of a Python stack trace (`File "model.py", line 12, in forward`) that lies
// outside PyTorch; no line where there is none, or where its file has quotes or control bytes.
void set_source_line(std::string_view trace, Node& node);

}  // namespace cleave::exported
