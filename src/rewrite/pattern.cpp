#include "rewrite/pattern.h"

namespace cleave {
namespace {

using Kind = PatternNode::Kind;

Pattern made(Kind kind, std::vector<Pattern> children = {}) {
  PatternNode n;
  n.kind = kind;
  n.children = std::move(children);
  return Pattern(std::move(n));
}

}  // namespace

AttrTest bind(std::string name) {
  AttrTest t;
  t.kind = AttrTest::Kind::binds;
  t.name = std::move(name);
  return t;
}

AttrTest anything() {
  AttrTest t;
  t.kind = AttrTest::Kind::anything;
  return t;
}

Pattern::Pattern(PatternNode node) : node_(std::make_shared<const PatternNode>(std::move(node))) {}

Pattern Pattern::named(std::string name) const {
  PatternNode n = *node_;
  n.name = std::move(name);
  return Pattern(std::move(n));
}

Pattern Pattern::shared() const {
  PatternNode n = *node_;
  n.is_shared = true;
  return Pattern(std::move(n));
}

Pattern Pattern::commutes() const {
  PatternNode n = *node_;
  n.is_commutative = true;
  return Pattern(std::move(n));
}

Pattern Pattern::where(std::function<bool(const Type&)> test) const {
  PatternNode n = *node_;
  n.test = std::move(test);
  return Pattern(std::move(n));
}

Pattern Pattern::through(std::vector<std::string> ops) const {
  PatternNode n;
  n.kind = Kind::through;
  n.ops = std::move(ops);
  n.children = {*this};
  return Pattern(std::move(n));
}

Pattern any(std::string name) { return made(Kind::any).named(std::move(name)); }
Pattern number(std::string name) { return made(Kind::number).named(std::move(name)); }
Pattern number(const char* name) { return number(std::string(name)); }
Pattern number(double value) {
  PatternNode n;
  n.kind = Kind::number;
  n.value = value;
  return Pattern(std::move(n));
}
Pattern absent() { return made(Kind::absent); }
Pattern optional(Pattern p) { return made(Kind::optional, {std::move(p)}); }

Pattern call(std::string op, std::vector<Pattern> operands, AttrTests attrs) {
  return call(std::vector<std::string>{std::move(op)}, std::move(operands), std::move(attrs));
}

Pattern call(std::vector<std::string> ops, std::vector<Pattern> operands, AttrTests attrs) {
  PatternNode n;
  n.kind = Kind::call;
  n.ops = std::move(ops);
  n.children = std::move(operands);
  n.attrs = std::move(attrs);
  return Pattern(std::move(n));
}

Pattern result(Pattern call, int k) {
  PatternNode n;
  n.kind = Kind::result;
  n.children = {std::move(call)};
  n.index = k;
  return Pattern(std::move(n));
}

Pattern result_of(Pattern call) { return result(std::move(call), -1); }
Pattern results(Pattern call) { return made(Kind::results, {std::move(call)}); }
Pattern list(std::vector<Pattern> items) { return made(Kind::list, std::move(items)); }
Pattern each(Pattern item) { return made(Kind::each, {std::move(item)}); }
Pattern either(std::vector<Pattern> patterns) { return made(Kind::either, std::move(patterns)); }

}  // namespace cleave
