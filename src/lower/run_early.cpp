#include "lower/run_early.h"

#include <algorithm>

#include "lower/join_products.h"
#include "lower/plan_memory.h"
#include "lower/thunk_uses.h"

namespace cleave {
namespace {

// What makes no more than this runs early too: others may wait for it, as for an optimizer's step
// number.
constexpr int64_t small_bytes = 1 << 10;

struct Uses {
  int64_t first = -1, last = -1;                // thunks
  int64_t last_write = -1, latest_access = -1;  // slots, while thunks are placed
};

class Mover {
 public:
  explicit Mover(const LoweredProgram& p) : p_(p), uses_(p.storages.size()) {
    for (size_t i = 0; i < p.thunks.size(); ++i)
      each_touched(p.thunks[i], [&](size_t s) {
        if (uses_[s].first < 0) uses_[s].first = static_cast<int64_t>(i);
        uses_[s].last = static_cast<int64_t>(i);
      });
    for (const size_t s : p.returns) uses_[s].last = static_cast<int64_t>(p.thunks.size());
  }

  // For each thunk the one after which it goes; its own number if it stays. None goes between the
  // calls of `jobs`.
  std::vector<int64_t> slots(const std::vector<JoinedCalls>& jobs) {
    for (Uses& u : uses_) u.last_write = u.latest_access = -1;
    const std::vector<int64_t> last_call = last_calls(jobs);
    const auto n = static_cast<int64_t>(p_.thunks.size());
    std::vector<int64_t> out(p_.thunks.size());
    int64_t last_failure = -1;
    for (int64_t i = 0; i < n; ++i) {
      const Thunk& thunk = p_.thunks[static_cast<size_t>(i)];
      const std::vector<size_t> touched = storages_of(thunk);
      std::vector<bool> written;
      for (const size_t s : touched) written.push_back(writes(p_, thunk, s));
      int64_t slot = i;
      if (!thunk.may_fail && is_alone(i) && is_worth_it(i, touched)) {
        slot = 0;
        for (size_t k = 0; k < touched.size(); ++k) {
          const Uses& u = uses_[touched[k]];
          // Others so far have written other parts of it.
          if (written[k] && !p_.storages[touched[k]].parts.empty()) continue;
          // What it frees, others must have read before.
          const bool waits = written[k] || u.last == i;
          slot = std::max(slot, waits ? u.latest_access : u.last_write);
          if (written[k] && p_.storages[touched[k]].placeholder >= 0)
            slot = std::max(slot, last_failure);
        }
        if (const int64_t last = last_call[static_cast<size_t>(slot)]; last < i) slot = last;
      }
      out[static_cast<size_t>(i)] = slot;
      if (thunk.may_fail) last_failure = i;
      for (size_t k = 0; k < touched.size(); ++k) {
        Uses& u = uses_[touched[k]];
        u.latest_access = std::max(u.latest_access, slot);
        if (written[k]) u.last_write = std::max(u.last_write, slot);
      }
    }
    return out;
  }

 private:
  // By thunk: the last of its job; itself, if it is in none.
  std::vector<int64_t> last_calls(const std::vector<JoinedCalls>& jobs) const {
    std::vector<int64_t> out;
    for (size_t i = 0; i < p_.thunks.size(); ++i) out.push_back(static_cast<int64_t>(i));
    for (const JoinedCalls& job : jobs)
      for (size_t i = job.begin; i < job.end; ++i) out[i] = static_cast<int64_t>(job.end) - 1;
    return out;
  }

  // The only thunk of its node: the thunks of a node stay together.
  bool is_alone(int64_t i) const {
    const NodeId node = p_.thunks[static_cast<size_t>(i)].node;
    const auto is_same = [&](int64_t k) {
      return k >= 0 && k < static_cast<int64_t>(p_.thunks.size()) && node.valid() &&
             p_.thunks[static_cast<size_t>(k)].node == node;
    };
    return !is_same(i - 1) && !is_same(i + 1);
  }

  // Whether it frees more than it allocates, or allocates next to nothing.
  bool is_worth_it(int64_t i, std::vector<size_t> touched) const {
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    int64_t freed = 0, made = 0;
    for (const size_t s : touched) {
      const Storage& storage = p_.storages[s];
      if (storage.placeholder >= 0) continue;
      const Uses& u = uses_[s];
      if (u.last == i && u.first < i) freed += rounded(storage.bytes);
      if (u.first == i && u.last > i) made += rounded(storage.bytes);
    }
    return freed > made || made <= small_bytes;
  }

  const LoweredProgram& p_;
  std::vector<Uses> uses_;
};

std::vector<size_t> order_of(const std::vector<int64_t>& slots) {
  std::vector<size_t> order(slots.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    return std::pair(slots[i], slots[i] != static_cast<int64_t>(i));
  });
  return order;
}

void put_in_order(LoweredProgram& p, const std::vector<size_t>& order) {
  std::vector<Thunk> out;
  for (const size_t i : order) out.push_back(std::move(p.thunks[i]));
  p.thunks = std::move(out);
}

int64_t bytes_in(LoweredProgram& p, const std::vector<size_t>& order) {
  put_in_order(p, order);
  const int64_t out = measure_memory(p).arena;
  std::vector<size_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = i;
  put_in_order(p, back);
  return out;
}

}  // namespace

void run_early(LoweredProgram& p) {
  if (has_jumps(p)) return;
  Mover mover(p);
  std::vector<size_t> best = order_of(mover.slots({}));
  if (std::ranges::is_sorted(best)) return;
  const int64_t before = measure_memory(p).arena;
  int64_t bytes = bytes_in(p, best);
  if (const std::vector<JoinedCalls> jobs = joinable_calls(p); !jobs.empty())
    if (std::vector<size_t> other = order_of(mover.slots(jobs)); other != best)
      if (const int64_t joined = bytes_in(p, other); joined <= bytes) {
        best = std::move(other);
        bytes = joined;
      }
  if (bytes <= before) put_in_order(p, best);
}

}  // namespace cleave
