// Shape functions: views, slices, concatenations.
#include <algorithm>
#include <limits>

#include "trace/record.h"

namespace cleave {

using trace::normal_dim;
using trace::record1;
using trace::require_defined;

Tensor view(const Tensor& self, const Sizes& size, Location at) {
  require_defined("view", "self", self, at);
  return record1("view", {self}, {{"size", size}}, at);
}

Tensor reshape(const Tensor& self, const Sizes& size, Location at) { return view(self, size, at); }

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim, Location at) {
  require_defined("flatten", "self", self, at);
  const Sizes sizes = self.sizes();
  if (sizes.empty()) return view(self, {1}, at);
  const int64_t rank = self.dim();
  const int64_t first = normal_dim("flatten", start_dim, rank, at);
  const int64_t last = normal_dim("flatten", end_dim, rank, at);
  if (first > last)
    trace::refuse(at, "flatten: start_dim {} comes after end_dim {}", start_dim, end_dim);
  Sizes out(sizes.begin(), sizes.begin() + first);
  int64_t product = 1;
  for (int64_t d = first; d <= last; ++d) product *= sizes[d];
  out.push_back(product);
  out.insert(out.end(), sizes.begin() + last + 1, sizes.end());
  return view(self, out, at);
}

Tensor permute(const Tensor& self, const Sizes& dims, Location at) {
  require_defined("permute", "self", self, at);
  return record1("permute", {self}, {{"dims", dims}}, at);
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1, Location at) {
  require_defined("transpose", "self", self, at);
  const int64_t rank = self.dim();
  Sizes dims(rank);
  for (int64_t d = 0; d < rank; ++d) dims[d] = d;
  std::swap(dims[normal_dim("transpose", dim0, rank, at)],
            dims[normal_dim("transpose", dim1, rank, at)]);
  return permute(self, dims, at);
}

Tensor t(const Tensor& self, Location at) {
  require_defined("t", "self", self, at);
  if (self.dim() > 2)
    trace::refuse(at, "t: self has {} dims, expected at most 2: {}", self.dim(), self.type_text());
  return self.dim() == 2 ? permute(self, {1, 0}, at) : self;
}

Tensor unsqueeze(const Tensor& self, int64_t dim, Location at) {
  require_defined("unsqueeze", "self", self, at);
  return record1("unsqueeze", {self}, {{"dim", dim}}, at);
}

Tensor squeeze(const Tensor& self, const DimList& dim, Location at) {
  require_defined("squeeze", "self", self, at);
  return record1("squeeze", {self}, {{"dim", dim.dims()}}, at);
}

Tensor expand(const Tensor& self, const Sizes& size, Location at) {
  require_defined("expand", "self", self, at);
  return record1("expand", {self}, {{"size", size}}, at);
}

Tensor select(const Tensor& self, int64_t dim, int64_t index, Location at) {
  require_defined("select", "self", self, at);
  return record1("select", {self}, {{"dim", dim}, {"index", index}}, at);
}

Tensor slice(const Tensor& self, int64_t dim, int64_t start, int64_t end, int64_t step,
             Location at) {
  require_defined("slice", "self", self, at);
  return record1("slice", {self}, {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}},
                 at);
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length, Location at) {
  require_defined("narrow", "self", self, at);
  const int64_t size = self.size(normal_dim("narrow", dim, self.dim(), at));
  if (start < 0 || length < 0 || start > size - length)
    trace::refuse(at, "narrow: start {} and length {} pass the size {} of dim {}", start, length,
                  size, dim);
  return slice(self, dim, start, start + length, 1, at);
}

Tensors split(const Tensor& self, const Sizes& split_sizes, int64_t dim, Location at) {
  require_defined("split", "self", self, at);
  return trace::record("split_with_sizes", {self}, {{"split_sizes", split_sizes}, {"dim", dim}},
                       at);
}

Tensors split(const Tensor& self, int64_t split_size, int64_t dim, Location at) {
  require_defined("split", "self", self, at);
  if (split_size < 1) trace::refuse(at, "split: split_size {} is less than 1", split_size);
  const int64_t size = self.size(normal_dim("split", dim, self.dim(), at));
  Sizes sizes;
  for (int64_t begin = 0; begin < size || sizes.empty(); begin += split_size)
    sizes.push_back(std::min(split_size, size - begin));
  return split(self, sizes, dim, at);
}

Tensors chunk(const Tensor& self, int64_t chunks, int64_t dim, Location at) {
  require_defined("chunk", "self", self, at);
  if (chunks < 1) trace::refuse(at, "chunk: {} chunks, expected at least 1", chunks);
  const int64_t size = self.size(normal_dim("chunk", dim, self.dim(), at));
  return split(self, std::max<int64_t>(size / chunks + (size % chunks != 0), 1), dim, at);
}

Tensor cat(const Tensors& tensors, int64_t dim, Location at) {
  for (const Tensor& x : tensors) require_defined("cat", "tensors", x, at);
  return record1("cat", {tensors}, {{"dim", dim}}, at);
}

Tensor stack(const Tensors& tensors, int64_t dim, Location at) {
  Tensors parts;
  for (const Tensor& x : tensors) parts.push_back(unsqueeze(x, dim, at));
  return cat(parts, dim, at);
}

Tensor flip(const Tensor& self, const Sizes& dims, Location at) {
  require_defined("flip", "self", self, at);
  return record1("flip", {self}, {{"dims", dims}}, at);
}

Tensor unfold(const Tensor& self, int64_t dim, int64_t size, int64_t step, Location at) {
  require_defined("unfold", "self", self, at);
  return record1("unfold", {self}, {{"dimension", dim}, {"size", size}, {"step", step}}, at);
}

Tensor pad(const Tensor& self, const Sizes& pad, const Number& value, Location at) {
  require_defined("pad", "self", self, at);
  return record1("constant_pad_nd", {self}, {{"pad", pad}, {"value", trace::attr_of(value)}}, at);
}

namespace {

// bool [rows, columns]: whether column - row <= diagonal.
Tensor lower_triangle(const Tensor& self, int64_t diagonal, const char* op, Location at) {
  require_defined(op, "self", self, at);
  if (self.dim() < 2)
    trace::refuse(at, "{}: self has {} dims, expected at least 2: {}", op, self.dim(),
                  self.type_text());
  const Tensor rows = unsqueeze(arange(0, self.size(-2), 1, DType::i64, at), 1, at);
  const Tensor columns = arange(0, self.size(-1), 1, DType::i64, at);
  return le(sub(columns, rows, 1, at), diagonal, at);
}

}  // namespace

Tensor tril(const Tensor& self, int64_t diagonal, Location at) {
  const Tensor keep = lower_triangle(self, diagonal, "tril", at);
  if (self.dtype() == DType::boolean) return logical_and(keep, self, at);
  return where(keep, self, zeros_like(self, at), at);
}

Tensor triu(const Tensor& self, int64_t diagonal, Location at) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const Tensor drop = lower_triangle(self, std::max(diagonal, -most) - 1, "triu", at);
  if (self.dtype() == DType::boolean) return logical_and(logical_not(drop, at), self, at);
  return where(drop, zeros_like(self, at), self, at);
}

}  // namespace cleave
