// Attention over heads.
#pragma once
#include <optional>

#include "cleave/function.h"

namespace cleave::pretrained {

// x [B,T,heads*width] -> [B,heads,T,width]
Tensor headed(const Tensor& x, int64_t heads, Location at);

struct Attention {
  double dropout = 0;
  bool is_causal = false;
  std::optional<double> scale = {};  // of the scores; 1 / sqrt(width)
  int64_t window = 0;                // a causal one sees so many positions, itself included; 0: all
};
// query [B,heads,T,width], key and value [B,kv_heads,T,width] -> [B,T,heads*width]. Each head of
// keys and values is of heads / kv_heads consecutive heads of queries.
Tensor attended(const Tensor& query, const Tensor& key, const Tensor& value, const Attention& a,
                Location at);

}  // namespace cleave::pretrained
