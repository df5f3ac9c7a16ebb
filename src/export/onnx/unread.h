// Dead code of an ONNX graph.
#pragma once
#include "onnx/model.h"

namespace cleave::to_onnx {

// Removes nodes and initialisers that no output depends on. Bodies stay as they are: what they read
// is read. Inputs stay.
void drop_unread(onnx::GraphProto& g);

}  // namespace cleave::to_onnx
