// Where the values of a program's state are that is built ahead of time (build.h).
#pragma once
#include <cstdint>

namespace cleave {

enum class WeightPlace : uint8_t {
  inside,  // in the library
  beside,  // in a .safetensors file of its name
  none,    // nowhere: whoever opens it has them
};

}  // namespace cleave
