#include "pretrained/attention.h"

#include <algorithm>

namespace cleave::pretrained {
namespace {

// [B,kv_heads,T,width] -> [B,heads,T,width]
Tensor repeated(const Tensor& x, int64_t heads, Location at) {
  const int64_t b = x.size(0), own = x.size(1), time = x.size(2), width = x.size(3);
  if (own == heads) return x;
  const Tensor each = expand(unsqueeze(x, 2, at), {b, own, heads / own, time, width}, at);
  return view(each, {b, heads, time, width}, at);
}

// bool [T,T], true where position i sees position j: j in (i - window, i].
HostTensor band(int64_t time, int64_t window) {
  HostTensor mask(DType::boolean, {time, time});
  for (int64_t i = 0; i < time; ++i)
    for (int64_t j = std::max<int64_t>(0, i - window + 1); j <= i; ++j)
      mask.at<bool>({i, j}) = true;
  return mask;
}

}  // namespace

Tensor headed(const Tensor& x, int64_t heads, Location at) {
  const Tensor apart = view(x, {x.size(0), x.size(1), heads, x.size(2) / heads}, at);
  return permute(apart, {0, 2, 1, 3}, at);
}

Tensor attended(const Tensor& query, const Tensor& key, const Tensor& value, const Attention& a,
                Location at) {
  const int64_t b = query.size(0), heads = query.size(1), time = query.size(2);
  AttentionOptions options;
  options.dropout_p = a.dropout;
  options.scale = a.scale;
  if (a.is_causal && a.window > 0 && a.window < time)
    options.attn_mask = constant(band(time, a.window), at);
  else
    options.is_causal = a.is_causal;
  const Tensor y = scaled_dot_product_attention(query, repeated(key, heads, at),
                                                repeated(value, heads, at), options, at);
  return view(permute(y, {0, 2, 1, 3}, at), {b, time, heads * y.size(3)}, at);
}

}  // namespace cleave::pretrained
