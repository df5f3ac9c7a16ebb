#include "exec/shared_memory.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ir/strides.h"

namespace cleave {
namespace {

const std::byte* begin_of(const HostTensor& t) { return static_cast<const std::byte*>(t.data()); }
const std::byte* end_of(const HostTensor& t) { return begin_of(t) + t.extent_bytes(); }

// Whether sum_k x_k stride_k = target for some 0 <= x_k < size_k: an address of both tensors.
class AddressSearch {
 public:
  AddressSearch(const HostTensor& a, const HostTensor& b) {
    // a + i s + u = b + j t + v, for bytes u and v of elements; j counts from the last element of b
    // on down, so that all terms are positive.
    const int64_t size_a = size_of(a.dtype()), size_b = size_of(b.dtype());
    const int64_t distance = begin_of(b) - begin_of(a);
    target_ = distance + b.extent_bytes() - size_b;
    if (size_a != size_b || distance % size_a != 0) {
      add(size_a, 1);
      add(size_b, 1);
      target_ += size_b - 1;
    }
    for (const HostTensor* t : {&a, &b})
      for (int64_t d = 0; d < t->rank(); ++d)
        add(t->shape()[static_cast<size_t>(d)], t->stride(d) * size_of(t->dtype()));
    const auto used = dims();
    std::ranges::sort(used, std::greater(), &Dim::stride);
    for (size_t k = count_; k-- > 0;) {
      Dim& dim = dims_[k];
      const Dim inner = k + 1 < count_ ? dims_[k + 1] : Dim{};
      dim.reach = inner.reach + (dim.size - 1) * dim.stride;
      dim.unit = std::gcd(inner.unit, dim.stride);
    }
  }

  bool run() { return found(0, target_); }

 private:
  struct Dim {
    int64_t size = 1, stride = 0;
    int64_t reach = 0, unit = 0;  // of this dim and those behind it: the largest sum, their divisor
  };
  std::span<Dim> dims() { return {dims_.data(), count_}; }

  // Dims of one stride are one dim.
  void add(int64_t size, int64_t stride) {
    if (size <= 1 || stride == 0) return;
    const auto same = std::ranges::find(dims(), stride, &Dim::stride);
    if (same != dims().end())
      same->size += size - 1;
    else
      dims_[count_++] = {size, stride};
  }

  bool found(size_t k, int64_t rest) {
    if (++steps_ > 20'000) return true;
    if (k == count_) return rest == 0;
    const Dim& dim = dims_[k];
    if (rest < 0 || rest > dim.reach || rest % dim.unit != 0) return false;
    const int64_t behind = k + 1 < count_ ? dims_[k + 1].reach : 0;
    const int64_t least = std::max<int64_t>(0, (rest - behind + dim.stride - 1) / dim.stride);
    const int64_t last = std::min(dim.size - 1, rest / dim.stride);
    for (int64_t x = least; x <= last; ++x)
      if (found(k + 1, rest - x * dim.stride)) return true;
    return false;
  }

  std::array<Dim, 130> dims_;  // 64 of each tensor, and the bytes of their elements
  size_t count_ = 0;
  int64_t target_ = 0, steps_ = 0;
};

}  // namespace

bool share_memory(const HostTensor& a, const HostTensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  if (begin_of(a) >= end_of(b) || begin_of(b) >= end_of(a)) return false;
  if (a.is_row_major() && b.is_row_major()) return true;
  return AddressSearch(a, b).run();
}

void SharedMemory::reserve(size_t operands) {
  for (auto* v : {&operands_, &written_, &all_}) v->reserve(operands);
}

void SharedMemory::add(const Operand& operand) {
  if (operand.tensor->numel() > 0) operands_.push_back(operand);
}

// Drops those that end before the operand begins.
std::optional<SharedMemory::Pair> SharedMemory::meets(const Operand& operand,
                                                      std::vector<Operand>& open) {
  std::erase_if(open,
                [&](const Operand& o) { return end_of(*o.tensor) <= begin_of(*operand.tensor); });
  for (const Operand& o : open)
    if (share_memory(*operand.tensor, *o.tensor))
      return o.is_written ? Pair{o, operand} : Pair{operand, o};
  return std::nullopt;
}

std::optional<SharedMemory::Pair> SharedMemory::find() {
  written_.clear();
  all_.clear();
  std::ranges::sort(operands_, {}, [](const Operand& o) { return begin_of(*o.tensor); });
  for (const Operand& o : operands_) {
    if (auto pair = meets(o, o.is_written ? all_ : written_)) return pair;
    all_.push_back(o);
    if (o.is_written) written_.push_back(o);
  }
  return std::nullopt;
}

}  // namespace cleave
