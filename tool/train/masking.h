// Masked language modelling: which tokens a model has to guess.
//
//   of each position but those of special tokens, with probability p: the label is its token; the
//   input is [MASK] (8 of 10), a random token (1 of 10), or the token itself (1 of 10)
//   all other labels are -100
//
// A row in which no position is drawn gets the one with the smallest draw, so that each row counts.
// Source: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (2019), 3.1.
#pragma once
#include <cstdint>
#include <vector>

#include "cleave/host_tensor.h"

namespace cleave::tool {

struct Masking {
  double probability = 0.15;
  int64_t mask_id = 0, vocabulary = 0;
  std::vector<int64_t> never;  // special tokens
  uint64_t seed = 0;

  // batch: input_ids i64[B,T], which it alters, and labels i64[B,T], which it writes. The draws
  // depend on seed, stream and the place in the batch alone.
  void apply(int64_t stream, HostTensors& batch) const;
};

}  // namespace cleave::tool
