// Values that don't change while the program runs: state without a gradient.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Whether v is a param, buffer or const whose gradient isn't requested.
bool is_frozen(const Graph& g, ValueId v);

// What a value is computed from.
//   none       other values too
//   state      only frozen placeholders
//   constants  only consts: it could be computed once in advance
enum class MadeOf : uint8_t { none, state, constants };

// Looks through arithmetic, conversions and views, which folding into weights leaves behind; at
// most a few dozen calls deep, beyond which it returns none.
MadeOf made_of_frozen(const Graph& g, ValueId v);

}  // namespace cleave
