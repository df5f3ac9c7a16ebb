// Activations composed of other operators. The compositions have PyTorch's slopes at the kinks:
// hardtanh's slope is 0 at its bounds, clamp's is 1.
#include "trace/record.h"

namespace cleave {

using trace::record1;
using trace::require_defined;

Tensor relu6(const Tensor& self, Location at) { return hardtanh(self, 0, 6, at); }

Tensor selu(const Tensor& self, Location at) {
  require_defined("selu", "self", self, at);
  return record1(
      "elu", {self},
      {{"alpha", 1.6732632423543772848170429916717}, {"scale", 1.0507009873554804934193349852946}},
      at);
}

Tensor celu(const Tensor& self, double alpha, Location at) {
  require_defined("celu", "self", self, at);
  if (alpha == 0) trace::refuse(at, "celu: alpha is 0");
  return record1("elu", {self}, {{"alpha", alpha}, {"input_scale", 1 / alpha}}, at);
}

Tensor hardsigmoid(const Tensor& self, Location at) {
  return div(relu6(add(self, 3.0, 1, at), at), 6.0, "", at);
}

Tensor hardswish(const Tensor& self, Location at) {
  return div(mul(self, relu6(add(self, 3.0, 1, at), at), at), 6.0, "", at);
}

Tensor mish(const Tensor& self, Location at) { return mul(self, tanh(softplus(self, at), at), at); }

// min(x, 0) - log1p(exp(-|x|)); half of minimum's slope at 0 is the correct slope.
Tensor logsigmoid(const Tensor& self, Location at) {
  require_defined("logsigmoid", "self", self, at);
  const Tensor zero = full({}, 0.0, self.dtype(), at);
  return sub(minimum(self, zero, at), log1p(exp(neg(abs(self, at), at), at), at), 1, at);
}

Tensor softsign(const Tensor& self, Location at) {
  return div(self, add(abs(self, at), 1.0, 1, at), "", at);
}

Tensor tanhshrink(const Tensor& self, Location at) { return sub(self, tanh(self, at), 1, at); }

Tensor softshrink(const Tensor& self, double lambd, Location at) {
  if (!(lambd >= 0)) trace::refuse(at, "softshrink: lambd is {}, expected 0 or more", lambd);
  return sub(self, clamp(self, Number(-lambd), Number(lambd), at), 1, at);
}

Tensor hardshrink(const Tensor& self, double lambd, Location at) {
  return where(le(abs(self, at), lambd, at), 0.0, self, at);
}

Tensor threshold(const Tensor& self, double threshold, double value, Location at) {
  require_defined("threshold", "self", self, at);
  return where(le(self, threshold, at), value, self, at);
}

Tensor prelu(const Tensor& self, const Tensor& weight, Location at) {
  require_defined("prelu", "self", self, at);
  require_defined("prelu", "weight", weight, at);
  const int64_t channels = self.dim() >= 2 ? self.size(1) : 1;
  if (weight.dim() > 1 || (weight.numel() != 1 && weight.numel() != channels))
    trace::refuse(at, "prelu: weight is {}, expected [1] or [{}] for self: {}", weight.type_text(),
                  channels, self.type_text());
  Sizes shape(static_cast<size_t>(self.dim()), 1);
  if (shape.size() >= 2) shape[1] = weight.numel();
  return where(gt(self, 0, at), self, mul(view(weight, shape, at), self, at), at);
}

Tensor glu(const Tensor& self, int64_t dim, Location at) {
  require_defined("glu", "self", self, at);
  const int64_t d = trace::normal_dim("glu", dim, self.dim(), at);
  if (self.size(d) % 2 != 0)
    trace::refuse(at, "glu: dim {} of self: {} is odd", dim, self.type_text());
  const Tensors halves = split(self, self.size(d) / 2, d, at);
  return mul(halves[0], sigmoid(halves[1], at), at);
}

}  // namespace cleave
