// The choice by instruction set, and the copy for any processor.
#include "runtime/transposed_copy.h"

namespace cleave::runtime {
namespace {

void copy_plain(const TransposedCopy& t) {
  for (int64_t c = 0; c < t.columns; ++c)
    for (int64_t r = 0; r < t.rows; ++r) {
      float x = t.from[r * t.from_row + c];
      if (t.added != nullptr) x += t.added[c * t.to_row + r];
      t.to[c * t.to_row + r] = t.relu && x < 0 ? 0 : x;
    }
}

}  // namespace

CopyTransposed copy_transposed(InstructionSet set) {
  if (set >= InstructionSet::avx512 && copy_transposed_avx512 != nullptr)
    return copy_transposed_avx512;
  if (set >= InstructionSet::avx2 && copy_transposed_avx2 != nullptr) return copy_transposed_avx2;
  return copy_plain;
}

}  // namespace cleave::runtime
