#include "pretrained/self_attention.h"

namespace cleave::pretrained {

SelfAttention::SelfAttention(int64_t width, int64_t heads, double dropout, const Initial& i,
                             bool bias)
    : heads_(heads), dropout_(dropout), query_(add_module("query", Dense(width, width, i, bias))),
      key_(add_module("key", Dense(width, width, i, bias))),
      value_(add_module("value", Dense(width, width, i, bias))) {}

Tensor SelfAttention::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  return attended(headed(query_(x, at), heads_, at), headed(key_(x, at), heads_, at),
                  headed(value_(x, at), heads_, at), {.dropout = is_training() ? dropout_ : 0}, at);
}

}  // namespace cleave::pretrained
