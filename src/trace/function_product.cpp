// Matrix products; matmul and linear as mm, bmm and addmm over views.
#include <algorithm>

#include "trace/record.h"

namespace cleave {

using trace::record1;
using trace::require_defined;

Tensor mm(const Tensor& self, const Tensor& mat2, Location at) {
  require_defined("mm", "self", self, at);
  require_defined("mm", "mat2", mat2, at);
  return record1("mm", {self, mat2}, {}, at);
}

Tensor bmm(const Tensor& self, const Tensor& mat2, Location at) {
  require_defined("bmm", "self", self, at);
  require_defined("bmm", "mat2", mat2, at);
  return record1("bmm", {self, mat2}, {}, at);
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Number& beta,
             const Number& alpha, Location at) {
  require_defined("addmm", "self", self, at);
  require_defined("addmm", "mat1", mat1, at);
  require_defined("addmm", "mat2", mat2, at);
  return record1("addmm", {self, mat1, mat2},
                 {{"beta", trace::attr_of(beta)}, {"alpha", trace::attr_of(alpha)}}, at);
}

namespace {

int64_t product(const Sizes& sizes) {
  int64_t p = 1;
  for (const int64_t s : sizes) p *= s;
  return p;
}

// [batch..., rows, inner] x [batch..., inner, columns], batch dims broadcast, at least one of them.
Tensor batched_product(const Tensor& a, const Tensor& b, Location at) {
  const Sizes sa = a.sizes(), sb = b.sizes();
  Sizes batch_a(sa.begin(), sa.end() - 2), batch_b(sb.begin(), sb.end() - 2);
  const size_t rank = std::max(batch_a.size(), batch_b.size());
  batch_a.insert(batch_a.begin(), rank - batch_a.size(), 1);
  batch_b.insert(batch_b.begin(), rank - batch_b.size(), 1);
  Sizes batch(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (batch_a[d] != batch_b[d] && batch_a[d] != 1 && batch_b[d] != 1)
      trace::refuse(at, "matmul: batch dims do not broadcast: {} and {}", a.type_text(),
                    b.type_text());
    batch[d] = batch_a[d] == 1 ? batch_b[d] : batch_a[d];
  }
  const auto as_batch = [&](const Tensor& x, const Sizes& own) {
    const Sizes s = x.sizes();
    const int64_t rows = s[s.size() - 2], columns = s.back();
    Tensor y = x;
    if (own != batch) {
      Sizes size = batch;
      size.insert(size.end(), {rows, columns});
      y = expand(y, size, at);
    }
    if (rank == 1 && y.dim() == 3) return y;
    return view(y, {product(batch), rows, columns}, at);
  };
  const Tensor y = bmm(as_batch(a, batch_a), as_batch(b, batch_b), at);
  if (rank == 1) return y;
  Sizes size = batch;
  size.insert(size.end(), {sa[sa.size() - 2], sb.back()});
  return view(y, size, at);
}

}  // namespace

// A one-dim operand becomes a row or a column, whose dim is dropped from the result. If a batch is
// multiplied by one matrix on the right, all rows are multiplied at once: one mm is faster than a
// bmm.
Tensor matmul(const Tensor& self, const Tensor& other, Location at) {
  require_defined("matmul", "self", self, at);
  require_defined("matmul", "other", other, at);
  const int64_t ra = self.dim(), rb = other.dim();
  if (ra == 0 || rb == 0)
    trace::refuse(at, "matmul: both sides need at least one dim: {} and {}", self.type_text(),
                  other.type_text());
  const int64_t inner_b = other.size(rb == 1 ? 0 : -2);
  if (self.size(-1) != inner_b)
    trace::refuse(at, "matmul: the inner dims differ, {} and {}: {} and {}", self.size(-1), inner_b,
                  self.type_text(), other.type_text());
  if (rb == 1) return squeeze(matmul(self, unsqueeze(other, 1, at), at), -1, at);
  if (ra == 1) return squeeze(matmul(unsqueeze(self, 0, at), other, at), -2, at);
  if (ra == 2 && rb == 2) return mm(self, other, at);
  if (rb == 2) {
    Sizes size = self.sizes();
    const int64_t inner = size.back();
    size.pop_back();
    const Tensor flat = view(self, {product(size), inner}, at);
    size.push_back(other.size(1));
    return view(mm(flat, other, at), size, at);
  }
  return batched_product(self, other, at);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias, Location at) {
  require_defined("linear", "input", input, at);
  require_defined("linear", "weight", weight, at);
  if (input.dim() == 0 || weight.dim() != 2 || input.size(-1) != weight.size(1))
    trace::refuse(at, "linear: input {} and weight {}: expected [*, in] and [out, in]",
                  input.type_text(), weight.type_text());
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != weight.size(0)))
    trace::refuse(at, "linear: bias {}, expected [{}]", bias.type_text(), weight.size(0));
  Sizes size = input.sizes();
  const int64_t in = size.back();
  size.pop_back();
  const Tensor flat = input.dim() == 2 ? input : view(input, {product(size), in}, at);
  const Tensor columns = permute(weight, {1, 0}, at);
  const Tensor y = bias.defined() ? addmm(bias, flat, columns, 1, 1, at) : mm(flat, columns, at);
  size.push_back(weight.size(0));
  return input.dim() == 2 ? y : view(y, size, at);
}

}  // namespace cleave
