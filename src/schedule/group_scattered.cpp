#include "schedule/group_scattered.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

ScatteredResults::ScatteredResults(GroupContext& c, KeptValues& kept) : c_(c) {
  const int64_t length = c.plan.frame.row_elements();
  for (const GroupResult& r : c.calls.results) {
    const auto order = c.plan.orders.find(r.value.v);
    if (order == c.plan.orders.end() || keeps_rows(order->second, length)) continue;
    const DType dtype = compute_type(r.at.dtype);
    if (!kept.take_bytes(length * size_of(dtype))) continue;
    list_.push_back({&r, std::ssize(c.kernel.buffers)});
    c.kernel.buffers.push_back({c.calls.graph.name(r.value), dtype, length, Access::local});
  }
}

void ScatteredResults::take(std::vector<ResultValue>& values, const FrameElement& at) {
  for (const Scattered& s : list_)
    std::erase_if(values, [&](ResultValue& x) {
      if (x.result != s.result) return false;
      c_.sheet.open.back()->push_back({Store{s.local, at.inner, std::move(x.value)}});
      return true;
    });
}

bool ScatteredResults::are_stored(size_t pass) const {
  return std::ranges::any_of(
      list_, [&](const Scattered& s) { return c_.plan.pass_of(s.result->value) == pass; });
}

void ScatteredResults::store(const FrameElement& at, size_t pass) {
  for (const auto& [result, local] : list_) {
    if (c_.plan.pass_of(result->value) != pass) continue;
    const DType dtype = c_.kernel.buffers[static_cast<size_t>(local)].dtype;
    c_.store(result->at, c_.index_at(at, result->value), load(local, dtype, at.inner));
  }
}

}  // namespace cleave
