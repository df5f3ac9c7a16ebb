// Whether each variable of a phase is declared once in its scope, as a C compiler asks. A loop's
// body and the arms of a condition are scopes; those within may declare a variable again.
#pragma once
#include "simt/kernel.h"

namespace cleave::simt {

// The name of a variable that a scope declares twice; empty: none.
std::string declared_twice(const Phase& phase);

}  // namespace cleave::simt
