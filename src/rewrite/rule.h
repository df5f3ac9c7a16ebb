// A rewrite rule: where a pattern fits and its condition holds, its results are computed otherwise.
#pragma once
#include "cleave/report.h"
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

}  // namespace cleave
