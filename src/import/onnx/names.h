// Names of an ONNX file as names of a graph, which are shorter and have fewer characters.
#pragma once
#include <string>

namespace cleave::onnx {

// With '_' for every byte that a name can't hold; at most 200 bytes, not empty.
std::string plain_name(const std::string& name);
// The same for a symint: letters, digits and '_', no word of the grammar.
std::string symbol_name(const std::string& param);

}  // namespace cleave::onnx
