#include "flow/forward_graph.h"

namespace cleave::flow {
namespace {

constexpr int64_t sum_limit = int64_t{1} << 59;

// The first index with a negative term or where the sum reaches the limit; the size if there is
// none.
size_t first_outside(const std::vector<int64_t>& terms) {
  int64_t sum = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    if (terms[k] < 0 || terms[k] >= sum_limit) return k;
    if ((sum += terms[k]) >= sum_limit) return k;
  }
  return terms.size();
}

bool is_rising_to(const std::vector<int32_t>& begin, size_t items, int32_t first, size_t last) {
  if (begin.size() != items + 1 || begin.front() != first) return false;
  for (size_t k = 1; k < begin.size(); ++k)
    if (begin[k] < begin[k - 1]) return false;
  return static_cast<size_t>(begin.back()) == last;
}

}  // namespace

Status check_forward_graph(const ForwardGraph& g) {
  const size_t calls = g.cost.size(), values = g.bytes.size();
  if (calls + values + g.operand.size() > size_t{1} << 30)
    return user_error("flow: {} calls, {} values and {} operands, at most 2^30 are handled", calls,
                      values, g.operand.size());
  if (g.pinned.size() != calls || g.needed.size() != values || g.unsavable.size() != values)
    return user_error("flow: {} calls and {} values, but {} pinned, {} needed, {} unsavable", calls,
                      values, g.pinned.size(), g.needed.size(), g.unsavable.size());
  if (!is_rising_to(g.operand_begin, calls, 0, g.operand.size()))
    return user_error("flow: operand_begin: expected {} rising numbers from 0 to {}", calls + 1,
                      g.operand.size());
  if (g.placeholders < 0 || !is_rising_to(g.result_begin, calls, g.placeholders, values))
    return user_error("flow: result_begin: expected {} rising numbers from {} to {}", calls + 1,
                      g.placeholders, values);
  for (size_t n = 0; n < calls; ++n)
    for (int32_t k = g.operand_begin[n]; k < g.operand_begin[n + 1]; ++k)
      if (const int32_t v = g.operand[static_cast<size_t>(k)]; v < 0 || v >= g.result_begin[n])
        return user_error("flow: call {} reads value {}, expected one before its results: [0, {})",
                          n, v, g.result_begin[n]);
  if (const size_t n = first_outside(g.cost); n < calls)
    return user_error("flow: call {} costs {}: expected at least 0 and a sum below 2^59", n,
                      g.cost[n]);
  if (const size_t v = first_outside(g.bytes); v < values)
    return user_error("flow: value {} takes {} bytes: expected at least 0 and a sum below 2^59", v,
                      g.bytes[v]);
  return {};
}

}  // namespace cleave::flow
