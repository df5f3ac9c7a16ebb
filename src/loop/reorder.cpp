#include "loop/reorder.h"

#include <algorithm>

namespace cleave {

namespace {

using Digits = std::vector<Reorder::Digit>;

// Splits a digit wherever a weight of `weights` lies inside of it, seen from the second number.
bool split(const Reorder::Digit& d, const std::vector<int64_t>& weights, Digits& out) {
  int64_t done = 1;
  for (const int64_t w : weights) {  // rising
    if (w <= d.to * done || w >= d.to * d.extent) continue;
    if (w % (d.to * done) != 0 || d.to * d.extent % w != 0) return false;
    out.push_back({w / (d.to * done), d.from * done, d.to * done});
    done = w / d.to;
  }
  out.push_back({d.extent / done, d.from * done, d.to * done});
  return true;
}

std::vector<int64_t> rising(std::vector<int64_t> weights) {
  std::ranges::sort(weights);
  return weights;
}

}  // namespace

Reorder::Reorder(Digits digits) : digits_(std::move(digits)) {
  std::erase_if(digits_, [](const Digit& d) { return d.extent == 1; });
  std::ranges::sort(digits_, std::ranges::greater(), &Digit::from);
  for (size_t k = digits_.size(); k-- > 1;) {
    Digit &outer = digits_[k - 1], &inner = digits_[k];
    if (outer.from != inner.from * inner.extent || outer.to != inner.to * inner.extent) continue;
    outer = {outer.extent * inner.extent, inner.from, inner.to};
    digits_.erase(digits_.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

Reorder::Reorder(int64_t elements) : Reorder(Digits{{elements, 1, 1}}) {}

std::optional<Reorder> Reorder::of(const Layout& view, int64_t elements) {
  if (view.offset != 0 || view.numel() != elements) return std::nullopt;
  Digits digits;
  int64_t weight = 1;
  for (size_t d = view.shape.size(); d-- > 0;) {
    if (view.shape[d] != 1) digits.push_back({view.shape[d], weight, view.strides[d]});
    weight *= view.shape[d];
  }
  Digits by_memory = digits;
  std::ranges::sort(by_memory, {}, &Digit::to);
  weight = 1;
  for (const Digit& d : by_memory) {
    if (d.to != weight) return std::nullopt;
    weight *= d.extent;
  }
  return Reorder(std::move(digits));
}

Reorder Reorder::inverse() const {
  Digits out;
  for (const Digit& d : digits_) out.push_back({d.extent, d.to, d.from});
  return Reorder(std::move(out));
}

std::optional<Reorder> Reorder::then(const Reorder& other) const {
  std::vector<int64_t> mine, theirs;
  for (const Digit& d : digits_) mine.push_back(d.to);
  for (const Digit& d : other.digits_) theirs.push_back(d.from);
  Digits first, second, out;
  for (const Digit& d : digits_)
    if (!split(d, rising(theirs), first)) return std::nullopt;
  for (const Digit& d : other.inverse().digits_)
    if (!split(d, rising(mine), second)) return std::nullopt;
  for (const Digit& d : first) {
    const auto next = std::ranges::find(second, d.to, &Digit::to);
    if (next == second.end() || next->extent != d.extent) return std::nullopt;
    out.push_back({d.extent, d.from, next->from});
  }
  return Reorder(std::move(out));
}

}  // namespace cleave
