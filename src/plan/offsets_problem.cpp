#include "plan/offsets_problem.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace cleave::plan {
namespace {

struct Event {
  int64_t time;
  bool birth;  // deaths come first: lifetimes are half-open
  uint32_t buffer;
};

void join_times(OffsetProblem& p, const std::vector<Lifetime>& lifetimes) {
  std::vector<Event> events;
  events.reserve(2 * p.size());
  for (uint32_t i = 0; i < p.size(); ++i) {
    const Lifetime& l = lifetimes[p.buffers[i].index];
    events.push_back({l.lower, true, i});
    events.push_back({l.upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& x, const Event& y) {
    return x.time != y.time ? x.time < y.time : x.birth < y.birth;
  });
  bool births = false;
  int64_t alive = 0;
  for (const Event& e : events) {
    OffsetProblem::Buffer& b = p.buffers[e.buffer];
    if (e.birth && !births) p.total.push_back(0);
    births = e.birth;
    alive += e.birth ? b.size : -b.size;
    (e.birth ? b.first : b.last) = p.sections() - (e.birth ? 1 : 0);
    p.total.back() = std::max(p.total.back(), alive);
  }
}

// The largest total of each buffer's sections, from maxima over runs of power-of-two lengths.
void find_tightest(OffsetProblem& p) {
  if (p.total.empty()) return;
  std::vector<std::vector<int64_t>> most = {p.total};
  for (size_t run = 1; 2 * run <= p.total.size(); run *= 2) {
    const std::vector<int64_t>& half = most.back();
    std::vector<int64_t> next(p.total.size() - 2 * run + 1);
    for (size_t s = 0; s < next.size(); ++s) next[s] = std::max(half[s], half[s + run]);
    most.push_back(std::move(next));
  }
  for (OffsetProblem::Buffer& b : p.buffers) {
    const auto length = static_cast<size_t>(b.last - b.first);
    const size_t level = std::bit_width(length) - 1;
    const std::vector<int64_t>& m = most[level];
    b.tightest = std::max(m[static_cast<size_t>(b.first)],
                          m[static_cast<size_t>(b.last) - (size_t{1} << level)]);
  }
}

}  // namespace

OffsetProblem make_offset_problem(const std::vector<Lifetime>& buffers, int64_t alignment) {
  OffsetProblem p;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Lifetime& b = buffers[i];
    if (b.size == 0 || b.lower >= b.upper) continue;
    const int64_t units = b.size / alignment + (b.size % alignment != 0);
    p.buffers.push_back({.size = units, .time = b.upper - b.lower, .index = i});
  }
  // After pushing all buffers down, offsets are sums of sizes: nothing is lost by counting in units
  // of their common divisor.
  int64_t divisor = 0;
  for (const OffsetProblem::Buffer& b : p.buffers) divisor = std::gcd(divisor, b.size);
  for (OffsetProblem::Buffer& b : p.buffers) b.size /= divisor;
  p.unit = alignment * std::max<int64_t>(divisor, 1);
  join_times(p, buffers);
  find_tightest(p);
  for (int64_t t : p.total) p.bound = std::max(p.bound, t);
  return p;
}

int64_t height_of(const OffsetProblem& p, const Placement& at) {
  int64_t height = 0;
  for (size_t i = 0; i < p.size(); ++i) height = std::max(height, at[i] + p.buffers[i].size);
  return height;
}

}  // namespace cleave::plan
