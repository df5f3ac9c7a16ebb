// A rewrite rule: where its pattern matches and its condition holds, its results are computed
// another way.
#pragma once
#include "ir/builder.h"
#include "rewrite/match.h"
#include "rewrite/pattern.h"

namespace cleave {

struct Rule {
  std::string name;
  // The results to replace. The search starts at the first one; each other must share a call or a
  // named value with those before it.
  std::vector<Pattern> search;
  std::function<bool(const Match&)> when = {};
  // Returns one value for each of `search`, of its type; none for a result that only calls of the
  // match use. New calls take the place of the replaced ones.
  std::function<Values(Builder&, const Match&)> build = {};
  // The results may be rounded differently: disabled in strict programs.
  bool rounds = false;
};

// Statistics of a rule in one run.
struct RuleCount {
  std::string rule;
  int64_t matches = 0;
  int64_t nodes = 0;  // calls matched, and results selected by index
  // Near misses: the pattern matches, but its condition, users, tags or order don't allow it.
  int64_t refused = 0;
  double ms = 0;
};

}  // namespace cleave
