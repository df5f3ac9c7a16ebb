// Philox 4x32-10 as attention's dropout reads it.
//
//   key      (low word of seed, high word of seed)
//   counter  (low word of index/4, high word of index/4, stream, low word of step)
//   word     index mod 4
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once
#include "backend/cuda/device/numbers.h"

namespace cleave::cuda::device {

CLEAVE_DEVICE unsigned philox(Int seed, Int step, unsigned stream, Int index) {
  using Word = unsigned;
  using Wide = unsigned long long;
  const Wide block = static_cast<Wide>(index) / 4;
  Word c0 = static_cast<Word>(block), c1 = static_cast<Word>(block >> 32);
  Word c2 = stream, c3 = static_cast<Word>(static_cast<Wide>(step));
  Word k0 = static_cast<Word>(static_cast<Wide>(seed));
  Word k1 = static_cast<Word>(static_cast<Wide>(seed) >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const Wide first = Wide(0xD2511F53u) * c0, second = Wide(0xCD9E8D57u) * c2;
    c0 = static_cast<Word>(second >> 32) ^ c1 ^ k0;
    c1 = static_cast<Word>(second);
    c2 = static_cast<Word>(first >> 32) ^ c3 ^ k1;
    c3 = static_cast<Word>(first);
  }
  const int lane = static_cast<int>(index % 4);
  return lane < 2 ? (lane == 0 ? c0 : c1) : (lane == 2 ? c2 : c3);
}

}  // namespace cleave::cuda::device
