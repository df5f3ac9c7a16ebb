// The text before the kernels: fixed-width types, the functions of libm, and those of the headers
// of this folder, each included only if a kernel uses it. The build writes the table of them
// (cmake/write_prelude.cmake), in this order:
//
//   kernel_types, kernel_macros    what all else is written with
//   primitives                     for one element
//   kernel_functions               integer division, conversions, Philox for one element
//   elementary_functions           for one element
//   lane_types, primitives         for 16 lanes
//   lane_words                     for 16 lanes
//   elementary_functions           for 16 lanes
//   lane_types, primitives, lane_words    for 64 lanes
//   lane_memory, lane_families     for 16 lanes, and for 64 as four times 16
//   lane_philox                    random bits for 16 lanes
#include "emit/c_source.h"
#include "emit/used_text.h"

namespace cleave::emit {
namespace {

// A definition precedes its uses.
constexpr Definition items[] = {
#include "prelude.inc"
};

}  // namespace

std::string c_prelude() {
  std::string out;
  for (const Definition& i : items) (out += i.text) += '\n';
  return out;
}

std::string c_prelude_for(const std::string& kernels) { return used_text(items, kernels); }

std::string_view c_function(std::string_view name) {
  for (const Definition& i : items)
    if (i.name == name) return i.text;
  return {};
}

}  // namespace cleave::emit
