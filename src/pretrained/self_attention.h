// The attention of BERT and ViT: all positions see each other; query, key and value are layers of
// their own.
#pragma once
#include "pretrained/attention.h"
#include "pretrained/layers.h"

namespace cleave::pretrained {

// x [B,T,width] -> [B,T,width]. Dropout of the weights of attention, in training.
struct SelfAttention : nn::Module {
  SelfAttention(int64_t width, int64_t heads, double dropout, const Initial& i, bool bias = true);
  Tensor operator()(const Tensor& x, Location at) const;

 private:
  int64_t heads_;
  double dropout_;
  Dense query_, key_, value_;
};

}  // namespace cleave::pretrained
