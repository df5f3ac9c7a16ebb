// Which operators show the memory of their operand, and how.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/exported/call.h"
#include "import/exported/memory.h"

namespace cleave::exported {

struct Views {
  enum class Sharing : uint8_t {
    view,
    copy,
    reshaped,   // a view where the operand's strides allow one, else a copy
    in_layout,  // the operand itself where its elements lie as the result's, else a copy
  };
  Sharing sharing = Sharing::view;
  std::vector<std::vector<ViewStep>> results;  // the steps of each result
  // An operator of cleave that gives all results in one call; empty: the steps do.
  std::string op;
  NamedAttrs attrs;
};

// Whether `views_of` knows the operator of ATen, without namespace and overload; the copies that
// are named after views too: permute_copy, unsafe_split.
bool is_view(std::string_view name);
// The views that the call makes of `self`; is_contiguous: its elements lie row by row.
Views views_of(std::string_view name, Call& call, ValueId self, bool is_contiguous);

}  // namespace cleave::exported
