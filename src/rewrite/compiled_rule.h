// A rule with its operators resolved: the form that the matcher uses.
#pragma once
#include "ir/op_def.h"
#include "rewrite/rule.h"

namespace cleave {

struct CompiledAttr {
  uint16_t arg;
  AttrTest::Kind kind;
  AttrValue value;  // equals: in the canonical form that nodes hold
  int name = -1;    // binds
};

// One operator of a call pattern, with its attributes by position.
struct CompiledOp {
  const OpDef* op;
  std::vector<CompiledAttr> attrs;
};

struct CompiledPattern {
  const PatternNode* source;
  PatternNode::Kind kind;
  int name = -1;
  std::vector<int> children;
  std::vector<CompiledOp> ops;
  bool is_repeated = false;  // inside each()
};

// One step up from a known value toward the result that is searched for.
struct Climb {
  int call;    // the call of this pattern uses the value
  int result;  // the next step, or the search, concerns this result of it; -1: any
};

struct CompiledRule {
  const Rule* rule;
  std::vector<CompiledPattern> patterns;
  std::vector<int> roots;
  std::vector<std::string> names;
  std::vector<int> known;                  // for each root but the first: the pattern to start from
  std::vector<std::vector<Climb>> climbs;  // and the path up from it
  std::vector<const OpDef*> anchors;       // of the first root
};

// Errors (bug), with the rule's name: an unknown operator or attribute, a value of the wrong kind,
// more operands than the operator has, each() in each(), results() below another pattern, a search
// that isn't a call, one that shares nothing with the searches before it, a rule without build.
Result<CompiledRule> compile_rule(const Rule& rule, const OpRegistry& ops);

}  // namespace cleave
