#include "rewrite/compiled_rule.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace cleave {
namespace {

using Kind = PatternNode::Kind;

class RuleCompiler {
 public:
  RuleCompiler(const Rule& rule, const OpRegistry& ops) : ops_(ops) { out_.rule = &rule; }

  Result<CompiledRule> run() {
    const Rule& rule = *out_.rule;
    if (!rule.build) return bug("it has no build");
    if (rule.search.empty()) return bug("it searches for nothing");
    for (const Pattern& p : rule.search) {
      CLEAVE_TRY(const int root, add(p, false, true));
      out_.roots.push_back(root);
      if (out_.roots.size() == 1)
        CLEAVE_CHECK(find_anchors(root));
      else
        CLEAVE_CHECK(find_way(root));
      for (size_t i = 0; i < out_.patterns.size(); ++i) note_known(static_cast<int>(i));
    }
    return std::move(out_);
  }

 private:
  Result<int> add(const Pattern& p, bool repeated, bool is_root = false) {
    if (const auto it = index_.find(p.identity()); it != index_.end()) return it->second;
    const PatternNode& node = p.node();
    if (node.kind == Kind::each && repeated) return bug("each() inside each()");
    if (node.kind == Kind::results && !is_root)
      return bug("results() stands below another pattern");
    const int at = static_cast<int>(out_.patterns.size());
    index_.emplace(p.identity(), at);
    CompiledPattern made{&node, node.kind};
    made.is_repeated = repeated;
    if (!node.name.empty()) made.name = slot(node.name);
    for (const std::string& name : node.ops) {
      CLEAVE_TRY(CompiledOp op, compiled_op(name, node));
      made.ops.push_back(std::move(op));
    }
    out_.patterns.push_back(std::move(made));
    std::vector<int> children;
    for (const Pattern& child : node.children) {
      CLEAVE_TRY(const int c, add(child, repeated || node.kind == Kind::each));
      children.push_back(c);
    }
    out_.patterns[at].children = std::move(children);
    if (const Kind k = node.kind; k == Kind::result || k == Kind::results)
      if (out_.patterns[out_.patterns[at].children[0]].kind != Kind::call)
        return bug("a result of something that isn't a call");
    if (node.kind == Kind::call) CLEAVE_CHECK(check_operands(out_.patterns[at]));
    return at;
  }

  Result<CompiledOp> compiled_op(const std::string& name, const PatternNode& node) {
    const OpDef* op = ops_.find(name);
    if (!op) {
      const std::string nearest = ops_.nearest(name);
      return bug("there is no operator '{}'{}", name,
                 nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest));
    }
    CompiledOp made{op, {}};
    if (node.kind != Kind::call) return made;
    for (const auto& [attr, test] : node.attrs) {
      const int arg = op->schema.find(attr);
      if (arg < 0 || op->schema.args[arg].is_operand())
        return bug("{} has no attribute '{}'", name, attr);
      CompiledAttr compiled{static_cast<uint16_t>(arg), test.kind, test.value};
      if (test.kind == AttrTest::Kind::binds) compiled.name = slot(test.name);
      if (test.kind == AttrTest::Kind::equals) {
        CLEAVE_TRY(compiled.value, checked_attr(op->schema.args[arg], test.value));
      }
      made.attrs.push_back(std::move(compiled));
    }
    return made;
  }

  Status check_operands(const CompiledPattern& p) const {
    for (const CompiledOp& op : p.ops) {
      const Schema& schema = op.op->schema;
      if (p.children.size() > schema.operands.size())
        return bug("{} has {} operands, not {}", op.op->name, schema.operands.size(),
                   p.children.size());
      for (size_t i = 0; i < p.children.size(); ++i) {
        const Kind k = out_.patterns[p.children[i]].kind;
        const bool is_list = static_cast<int>(i) == schema.list_operand;
        if (is_list != (k == Kind::list || k == Kind::each))
          return bug("{}: operand {} is {} list", op.op->name, i, is_list ? "a" : "no");
      }
    }
    return {};
  }

  int slot(const std::string& name) {
    const auto at = std::ranges::find(out_.names, name) - out_.names.begin();
    if (at == std::ssize(out_.names)) out_.names.push_back(name);
    return static_cast<int>(at);
  }

  // Collects the operators that the root can be a call of.
  Status find_anchors(int root) {
    const CompiledPattern& p = out_.patterns[root];
    switch (p.kind) {
      case Kind::call:
        for (const CompiledOp& op : p.ops)
          if (std::ranges::find(out_.anchors, op.op) == out_.anchors.end())
            out_.anchors.push_back(op.op);
        return {};
      case Kind::result:
      case Kind::results: return find_anchors(p.children[0]);
      case Kind::either:
        for (const int c : p.children) CLEAVE_CHECK(find_anchors(c));
        return {};
      default: return bug("what is searched for is no call");
    }
  }

  // Whether the pattern's value is known once the earlier roots have matched.
  bool is_known(int p) const {
    const CompiledPattern& node = out_.patterns[p];
    if (node.is_repeated) return false;
    return known_.contains(p) || (node.name >= 0 && known_names_.contains(node.name));
  }
  void note_known(int p) {
    const CompiledPattern& node = out_.patterns[p];
    if (node.is_repeated || node.kind == Kind::either || node.kind == Kind::optional) return;
    if (node.kind == Kind::call) known_.insert(p);
    if (node.name >= 0 && node.kind != Kind::number) known_names_.insert(node.name);
  }

  // Finds the path from a known value up to the root, through calls only.
  Status find_way(int root) {
    std::vector<Climb> way;
    int known = -1;
    if (!descend(root, 0, way, known))
      return bug("search {} shares no call and no named value with those before",
                 out_.roots.size());
    std::ranges::reverse(way);
    out_.known.push_back(known);
    out_.climbs.push_back(std::move(way));
    return {};
  }
  bool descend(int p, int result, std::vector<Climb>& way, int& known) const {
    const CompiledPattern& node = out_.patterns[p];
    if (is_known(p)) {
      known = p;
      return true;
    }
    if (node.kind == Kind::result) return descend(node.children[0], node.source->index, way, known);
    if (node.kind == Kind::results) return descend(node.children[0], -1, way, known);
    if (node.kind != Kind::call && node.kind != Kind::list) return false;
    if (node.kind == Kind::call) way.push_back({p, result});
    for (const int c : node.children)
      if (descend(c, 0, way, known)) return true;
    if (node.kind == Kind::call) way.pop_back();
    return false;
  }

  const OpRegistry& ops_;
  CompiledRule out_;
  std::unordered_map<const PatternNode*, int> index_;
  std::unordered_set<int> known_, known_names_;
};

}  // namespace

Result<CompiledRule> compile_rule(const Rule& rule, const OpRegistry& ops) {
  Result<CompiledRule> made = RuleCompiler(rule, ops).run();
  if (!made.ok())
    return Failure{ErrorKind::bug, fmt::format("rule {}: {}", rule.name, made.failure().message)};
  return made;
}

}  // namespace cleave
