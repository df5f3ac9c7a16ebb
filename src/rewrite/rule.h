// A rewrite rule: where its pattern matches and its condition holds, its results are computed
// another way.
#pragma once
#include "cleave/report.h"
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

}  // namespace cleave
