// What the functions of the host program's rules are given, and how they are called.
#pragma once
#include "cleave/rewrite.h"
#include "rewrite/graph_rule.h"

namespace cleave {

// The rule's functions as those of a graph rule. What they throw is kept in `failed`, and nothing
// matches from then on, because a search has no error of its own.
void add_functions(const RewriteRule& rule, const std::shared_ptr<Status>& failed,
                   GraphRuleParts& parts);

}  // namespace cleave
