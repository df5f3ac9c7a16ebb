// How often this process has forked away from the one that started: threads do not live in the
// child of a fork, so what has threads compares the count at its making with the count now.
#pragma once
#include <cstdint>

namespace cleave::runtime {

// A reading of memory; the first call allocates.
uint32_t fork_count();

}  // namespace cleave::runtime
