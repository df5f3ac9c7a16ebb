// What an iteration of a serial loop reads of large buffers behind the folds of its team is read
// together with what comes before them, so that a team waits for memory once and not twice.
//
//   for i in 16 {                           for i in 16 {
//     copy %x[row i]                          copy %x[row i], copy %z[row i]
//     fold, exchange                          fold, exchange
//     copy %z[row i]                          compute, write
//     compute, write                        }
//   }
//
// A read isn't moved over a check, nor over a write to the device's memory: results of a kernel may
// lie over its operands. Small buffers are in a cache, and would only take registers.
#pragma once
#include "simt/kernel.h"

namespace cleave::simt {

void read_ahead(Block& body, const std::vector<Buffer>& buffers);

}  // namespace cleave::simt
