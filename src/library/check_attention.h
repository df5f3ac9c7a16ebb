// What every library asks of an attention call, whichever dtypes it has.
#pragma once
#include "base/result.h"
#include "library/attention_spec.h"

namespace cleave {

// Bug, with the sizes, for those that no operator makes.
Status check_sizes(const AttentionSpec& spec);

}  // namespace cleave
