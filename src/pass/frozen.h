// Values that stay as they are while the program runs on: state without a gradient.
#pragma once
#include "ir/graph.h"

namespace cleave {

// A param, buffer or const whose gradient nothing asks for.
bool is_frozen(const Graph& g, ValueId v);

// What a value is made of.
//   none       something else too
//   state      frozen placeholders alone
//   constants  consts alone: it could be worked out once and for all
enum class MadeOf : uint8_t { none, state, constants };

// Through arithmetic, conversions and views, as folding into weights leaves them; at most a few
// dozen calls deep, beyond which it is none.
MadeOf made_of_frozen(const Graph& g, ValueId v);

}  // namespace cleave
