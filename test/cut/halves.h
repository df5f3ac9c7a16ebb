// Helpers for tests of partitions: joint graphs from text, and a check that the halves compute what
// the joint graph computes.
#pragma once
#include <gtest/gtest.h>

#include "cut/partition.h"
#include "grad/grad.h"
#include "test/random_inputs.h"

namespace cleave::test {

inline Graph joint_of(const std::string& text) {
  return value_or_throw(make_joint(parsed(text), core()));
}

inline std::vector<std::string> saved_names(const Partition& p) {
  std::vector<std::string> names;
  for (const SavedValue& s : p.saved) names.push_back(s.name);
  return names;
}

inline int64_t count(const Graph& g, const std::string& op) {
  int64_t n = 0;
  for (NodeId id : g.order()) n += g.node(id).op->name == op;
  return n;
}

// Runs both halves and the joint graph on random inputs; every result has the same bits.
inline void expect_halves(const Graph& joint, const Partition& p,
                          const std::map<std::string, int64_t>& symbols = {}) {
  for (const Graph* half : {&p.forward, &p.backward}) {
    const Status ok = verify(*half);
    ASSERT_TRUE(ok.ok()) << ok.failure().message << "\n" << print(*half);
    EXPECT_EQ(print(value_or_throw(parse(print(*half), "half", core()))), print(*half));
  }
  const auto inputs = random_inputs(joint, symbols);
  const Arrays want = value_or_throw(interpret(joint, inputs));
  std::map<std::string, Array> in;
  for (const Placeholder& q : p.forward.placeholders())
    if (auto it = inputs.find(p.forward.name(q.value)); it != inputs.end()) in.insert(*it);
  Arrays forward = value_or_throw(interpret(p.forward, in));
  const size_t results = forward.size() - p.saved.size();

  in.clear();
  for (size_t k = 0; k < p.saved.size(); ++k) in[p.saved[k].name] = forward[results + k];
  for (const Placeholder& q : p.backward.placeholders())
    if (q.role == Role::tangent) in.insert(*inputs.find(p.backward.name(q.value)));
  Arrays all(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(results));
  for (Array& a : value_or_throw(interpret(p.backward, in))) all.push_back(std::move(a));
  ASSERT_EQ(all.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(mismatch(all[k], want[k], 0), "") << k;

  // Saved values in the same order on both sides.
  for (size_t k = 0; k < p.saved.size(); ++k) {
    EXPECT_EQ(p.forward.name(p.forward.returns()[results + k].value), p.saved[k].name);
    EXPECT_EQ(p.backward.name(p.backward.placeholders()[k].value), p.saved[k].name);
  }
}

}  // namespace cleave::test
