// The values of a library's state and constants, as bytes.
#pragma once
#include <cstddef>

#include "ahead/source.h"

namespace cleave::ahead {

// The bytes of the section of weights, each entry by its own strides, at a multiple of 64; sets the
// offsets of the entries, of which those of the source come first. Values of zeros take no bytes.
std::vector<std::byte> weight_section(const Source& source,
                                      std::vector<standalone::StateEntry>& entries);
// A .safetensors file of all values.
Result<std::vector<std::byte>> weight_file(const Source& source, const std::string& path);
// Error (user): an entry of the source has no value, or one of another type.
Status check_values(const Source& source, const std::vector<standalone::StateEntry>& entries);

}  // namespace cleave::ahead
