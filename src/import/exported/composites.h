// The operators of ATen that texts (.clv) may call although cleave has no entry of the name: those
// that PyTorch's run_decompositions() leaves as they are and rules.h has a rule for.
#pragma once
#include "ir/composites.h"

namespace cleave::exported {

// Of dense tensors, complex ones too (complex_rules.h), without random numbers. Errors of expand
// (unsupported): what the rule refuses, an attribute that is a symbolic size where the rule needs a
// number.
const Composites& aten_composites();
// The same, of texts whose complex tensors stay whole: calls of these have no rule.
const Composites& aten_composites_of_real();
// Their names, each once, in order.
std::vector<std::string> aten_composite_names();

}  // namespace cleave::exported
