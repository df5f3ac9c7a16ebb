// How much memory of this process is in RAM, in bytes of whole pages; 0 where the system doesn't
// say. Takes some microseconds, however large the heap is: a walk over its free blocks (mallinfo2)
// took 80 ms where 500,000 of them lay about.
#pragma once
#include <cstdint>

namespace cleave {

int64_t resident_bytes();

}  // namespace cleave
