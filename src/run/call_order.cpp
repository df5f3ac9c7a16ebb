#include "run/call_order.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace cleave {
namespace {

using Lanes = std::array<int64_t, CallOrder::lanes>;  // by lane a call, or -1

bool overlap(const MemoryUse& a, const MemoryUse& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

bool conflict(const CallUse& before, const CallUse& after) {
  if (before.may_fail) return true;
  return std::ranges::any_of(before.memory, [&](const MemoryUse& a) {
    return std::ranges::any_of(after.memory, [&](const MemoryUse& b) {
      return (a.is_written || b.is_written) && overlap(a, b);
    });
  });
}

class Order {
 public:
  explicit Order(const std::vector<CallUse>& calls) : calls_(calls) {
    for (Lanes& known : known_) known.fill(-1);
    out_.calls.resize(calls.size());
    find_awaited();
  }

  CallOrder made() {
    for (size_t i = 0; i < calls_.size(); ++i) {
      const Lanes needs = needs_of(i);
      const size_t lane = leaves(i) ? lane_for(needs) : 0;
      out_.calls[i].lane = lane;
      wait_for(needs, lane, out_.calls[i].waits);
      known_[lane][lane] = static_cast<int64_t>(i);
      known_at_.push_back(known_[lane]);
      on_lane_[lane].push_back(i);
    }
    Lanes ends;
    for (size_t l = 0; l < CallOrder::lanes; ++l) ends[l] = last_on(l);
    wait_for(ends, 0, out_.ends);
    return std::move(out_);
  }

 private:
  bool leaves(size_t i) const { return calls_[i].is_small && !is_awaited_[i]; }

  // Small calls that the next call that isn't small waits for, or the last call, where there is
  // none: nothing would run beside them.
  void find_awaited() {
    is_awaited_.assign(calls_.size(), false);
    size_t next = calls_.size();
    for (size_t i = calls_.size(); i-- > 0;) {
      if (!calls_[i].is_small || i + 1 == calls_.size()) {
        next = i;
        is_awaited_[i] = true;
      }
      for (size_t k = i + 1; k <= next && !is_awaited_[i]; ++k)
        is_awaited_[i] = is_awaited_[k] && conflict(calls_[i], calls_[k]);
    }
  }

  int64_t last_on(size_t lane) const {
    return on_lane_[lane].empty() ? -1 : static_cast<int64_t>(on_lane_[lane].back());
  }

  // The last call of each lane that must come before call i. Between two calls of lane 0 nothing
  // is to be looked for.
  Lanes needs_of(size_t i) const {
    Lanes needs;
    needs.fill(-1);
    for (size_t lane = leaves(i) ? 0 : 1; lane < CallOrder::lanes; ++lane)
      for (auto c = on_lane_[lane].rbegin(); c != on_lane_[lane].rend(); ++c) {
        if (!leaves(i) && static_cast<int64_t>(*c) <= known_[0][lane]) break;
        if (!conflict(calls_[*c], calls_[i])) continue;
        needs[lane] = static_cast<int64_t>(*c);
        break;
      }
    return needs;
  }

  // That of the last call it needs, if this is a small one; else the one whose last call is the
  // oldest.
  size_t lane_for(const Lanes& needs) const {
    const auto last = std::ranges::max_element(needs);
    const auto of_last = static_cast<size_t>(last - needs.begin());
    if (of_last > 0 && *last >= 0 && last_on(of_last) == *last) return of_last;
    size_t best = 1;
    for (size_t lane = 2; lane < CallOrder::lanes; ++lane)
      if (last_on(lane) < last_on(best)) best = lane;
    return best;
  }

  // Waits of `lane` for what it doesn't know to have ended. The last ones tell of most others.
  void wait_for(const Lanes& needs, size_t lane, std::vector<size_t>& waits) {
    std::array<size_t, CallOrder::lanes> last_first;
    std::iota(last_first.begin(), last_first.end(), size_t{0});
    std::ranges::sort(last_first, std::greater(), [&](size_t l) { return needs[l]; });
    for (const size_t l : last_first) {
      if (l == lane || needs[l] <= known_[lane][l]) continue;
      const auto call = static_cast<size_t>(needs[l]);
      waits.push_back(call);
      out_.calls[call].is_waited_for = true;
      for (size_t k = 0; k < CallOrder::lanes; ++k)
        known_[lane][k] = std::max(known_[lane][k], known_at_[call][k]);
    }
  }

  const std::vector<CallUse>& calls_;
  std::vector<bool> is_awaited_;
  CallOrder out_;
  std::array<Lanes, CallOrder::lanes> known_;  // by lane: the calls that have ended before its next
  std::vector<Lanes> known_at_;                // by call: those that have ended when it has
  std::array<std::vector<size_t>, CallOrder::lanes> on_lane_;
};

}  // namespace

bool CallOrder::has_lanes() const {
  return std::ranges::any_of(calls, [](const Call& c) { return c.lane > 0; });
}

CallOrder order_calls(const std::vector<CallUse>& calls) {
  constexpr size_t most_calls = 8192;
  if (calls.size() <= most_calls) return Order(calls).made();
  CallOrder out;
  out.calls.resize(calls.size());
  return out;
}

}  // namespace cleave
