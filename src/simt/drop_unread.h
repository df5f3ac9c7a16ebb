// Definitions that nothing reads: of a row's number, where only its elements' addresses are wanted.
#pragma once
#include "simt/kernel.h"

namespace cleave::simt {

// Drops Lets of values that read no memory and whose variables are read nowhere behind them, and
// what only these read.
void drop_unread(Block& body);

}  // namespace cleave::simt
