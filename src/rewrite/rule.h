// A rewrite rule: where a pattern fits and its condition holds, its results are computed otherwise.
#pragma once
#include "ir/builder.h"
#include "rewrite/match.h"
#include "rewrite/pattern.h"

namespace cleave {

struct Rule {
  std::string name;
  // The results that are replaced; the first one is looked for, the others must share a call or a
  // named value with those before.
  std::vector<Pattern> search;
  std::function<bool(const Match&)> when = {};
  // One value for each of `search`, of its type; none for a result that only calls of the match
  // read. New calls stand where the replaced ones stood.
  std::function<Values(Builder&, const Match&)> build = {};
  // Its results may be rounded otherwise: off in strict programs.
  bool rounds = false;
};

// What became of a rule in one run.
struct RuleCount {
  std::string rule;
  int64_t matches = 0;
  int64_t nodes = 0;  // calls matched, and results taken by their index
  int64_t refused =
      0;  // near misses: the pattern fits, but not its condition, users, tags or order
  double ms = 0;
};

}  // namespace cleave
