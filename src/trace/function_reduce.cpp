// Reductions, softmax, cumulative sums.
#include "trace/record.h"

namespace cleave {

using trace::record1;

namespace {

Tensor reduce(const char* op, const Tensor& self, const DimList& dim, bool keepdim, Location at) {
  trace::require_defined(op, "self", self, at);
  NamedAttrs attrs;
  if (!dim.dims().empty()) attrs.emplace_back("dim", dim.dims());
  attrs.emplace_back("keepdim", keepdim);
  return record1(op, {self}, std::move(attrs), at);
}

Tensor along(const char* op, const Tensor& self, int64_t dim, bool keepdim, Location at) {
  trace::require_defined(op, "self", self, at);
  return record1(op, {self}, {{"dim", dim}, {"keepdim", keepdim}}, at);
}

}  // namespace

Tensor sum(const Tensor& self, const DimList& dim, bool keepdim, Location at) {
  return reduce("sum", self, dim, keepdim, at);
}
Tensor mean(const Tensor& self, const DimList& dim, bool keepdim, Location at) {
  return reduce("mean", self, dim, keepdim, at);
}
Tensor amax(const Tensor& self, const DimList& dim, bool keepdim, Location at) {
  return reduce("amax", self, dim, keepdim, at);
}
Tensor amin(const Tensor& self, const DimList& dim, bool keepdim, Location at) {
  return reduce("amin", self, dim, keepdim, at);
}
Tensor any(const Tensor& self, const DimList& dim, bool keepdim, Location at) {
  return reduce("any", self, dim, keepdim, at);
}

// As PyTorch decomposes it: no element is false.
Tensor all(const Tensor& self, const DimList& dim, bool keepdim, Location at) {
  trace::require_defined("all", "self", self, at);
  return logical_not(any(logical_not(self, at), dim, keepdim, at), at);
}

Tensor var(const Tensor& self, const DimList& dim, double correction, bool keepdim, Location at) {
  trace::require_defined("var", "self", self, at);
  NamedAttrs attrs;
  if (!dim.dims().empty()) attrs.emplace_back("dim", dim.dims());
  attrs.emplace_back("correction", correction);
  attrs.emplace_back("keepdim", keepdim);
  return record1("var", {self}, std::move(attrs), at);
}

Tensor prod(const Tensor& self, int64_t dim, bool keepdim, Location at) {
  return along("prod", self, dim, keepdim, at);
}
Tensor argmax(const Tensor& self, int64_t dim, bool keepdim, Location at) {
  return along("argmax", self, dim, keepdim, at);
}
Tensor argmin(const Tensor& self, int64_t dim, bool keepdim, Location at) {
  return along("argmin", self, dim, keepdim, at);
}

Tensor logsumexp(const Tensor& self, const DimList& dim, bool keepdim, Location at) {
  trace::require_defined("logsumexp", "self", self, at);
  return record1("logsumexp", {self}, {{"dim", dim.dims()}, {"keepdim", keepdim}}, at);
}

Tensor cumsum(const Tensor& self, int64_t dim, Location at) {
  trace::require_defined("cumsum", "self", self, at);
  return record1("cumsum", {self}, {{"dim", dim}}, at);
}

Tensor softmax(const Tensor& self, int64_t dim, Location at) {
  trace::require_defined("softmax", "self", self, at);
  return record1("_softmax", {self}, {{"dim", dim}, {"half_to_float", false}}, at);
}

Tensor log_softmax(const Tensor& self, int64_t dim, Location at) {
  trace::require_defined("log_softmax", "self", self, at);
  return record1("_log_softmax", {self}, {{"dim", dim}, {"half_to_float", false}}, at);
}

}  // namespace cleave
