#include "schedule/group_results.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

namespace {

bool is_of_elements(const GroupContext& c, const GroupResult& r) {
  return c.is_full(r.value) && !c.plan.fold_of(r.value);
}

bool has_own_length(const GroupContext& c, const GroupResult& r) {
  return !c.plan.fold_of(r.value) && c.plan.has_own_length(c.calls.graph, r.value);
}

}  // namespace

bool has_results(const GroupContext& c, size_t pass) {
  return std::ranges::any_of(c.calls.results, [&](const GroupResult& r) {
    return is_of_elements(c, r) && c.plan.pass_of(r.value) == pass;
  });
}

std::vector<ResultValue> results_of(GroupContext& c, const FrameElement& at,
                                    std::optional<size_t> pass) {
  std::vector<ResultValue> out;
  for (const GroupResult& r : c.calls.results) {
    if (!is_of_elements(c, r) || (pass && c.plan.pass_of(r.value) != *pass)) continue;
    const Exprs index = c.index_at(at, r.value);
    out.push_back({&r, index, c.values.value(r.value, index)});
  }
  return out;
}

void store_all(GroupContext& c, std::vector<ResultValue> list, bool is_last) {
  if (list.size() > 1)
    for (ResultValue& x : list) x.value = c.builder.let(x.value, "out");
  for (ResultValue& x : list) c.store(x.result->at, x.index, x.value, is_last);
}

void store_row_results(GroupContext& c, const FrameElement& row, size_t pass) {
  std::vector<ResultValue> out;
  for (const GroupResult& r : c.calls.results) {
    if (const FoldCall* f = c.plan.fold_of(r.value); f && !f->in_rows) continue;
    if (is_of_elements(c, r) || has_own_length(c, r) || c.plan.pass_of(r.value) != pass) continue;
    const Exprs index = c.index_of(row.row, r.value);
    out.push_back({&r, index, c.values.value(r.value, index)});
  }
  store_all(c, std::move(out), false);
}

std::vector<int64_t> own_lengths(const GroupContext& c) {
  std::vector<int64_t> out;
  for (const GroupResult& r : c.calls.results)
    if (has_own_length(c, r))
      if (const int64_t length = c.plan.row_length(c.calls.graph, r.value);
          std::ranges::find(out, length) == out.end())
        out.push_back(length);
  return out;
}

void store_own_results(GroupContext& c, const Expr& row, const Expr& inner, int64_t length) {
  const Expr number = c.math().dot({row, inner}, {length, 1});
  std::vector<ResultValue> out;
  for (const GroupResult& r : c.calls.results) {
    if (!has_own_length(c, r) || c.plan.row_length(c.calls.graph, r.value) != length) continue;
    const Exprs index = c.index_of(number, r.value);
    out.push_back({&r, index, c.values.value(r.value, index)});
  }
  store_all(c, std::move(out), false);
}

}  // namespace cleave
