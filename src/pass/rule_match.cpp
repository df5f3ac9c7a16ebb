#include "pass/rule_match.h"

#include <deque>

#include "base/host_call.h"
#include "trace/record.h"

namespace cleave {

struct RuleMatch::State {
  const RewriteRule& rule;
  const GraphMatch& match;
  trace::RecordingPtr recording = {};  // of `make`
  mutable std::deque<OpView> views = {};

  [[noreturn]] void refuse(std::string_view what, const std::string& name) const {
    throw_failure(user_error("rule {}: @search has no {} %{}", rule.name, what, name));
  }
  ValueId value(const std::string& name) const {
    const ValueId v = match.value(name);
    if (!v.valid()) refuse("value", name);
    return v;
  }
  NodeId call(const std::string& name) const {
    const NodeId n = match.call(name);
    if (!n.valid()) refuse("call", name);
    return n;
  }
  // A type of a call that a function reads sizes of.
  void require_static(const Type& t, const std::string& name) const {
    if (!t.is_static())
      throw_failure(unsupported("rule {}: %{} is {}, which has symbolic sizes: ask type_text()",
                                rule.name, name, t.text()));
  }
};

TensorType RuleMatch::type(const std::string& name) const {
  const Type& t = state_->match.graph().type(state_->value(name));
  state_->require_static(t, name);
  return {t.dtype, static_shape(t)};
}

std::string RuleMatch::type_text(const std::string& name) const {
  return state_->match.graph().type(state_->value(name)).text();
}

OpCall RuleMatch::call(const std::string& name) const {
  state_->views.push_back(state_->match.graph().view(state_->call(name)));
  return OpCall(state_->views.back());
}

std::string RuleMatch::source(const std::string& name) const {
  const Graph& g = state_->match.graph();
  return g.loc_text(g.node(state_->call(name)).loc);
}

int64_t RuleMatch::size(const std::string& symint) const {
  const auto at = state_->match.sizes().find(symint);
  if (at == state_->match.sizes().end()) state_->refuse("symint", symint);
  if (!at->second.is_const())
    throw_failure(unsupported("rule {}: %{} stands for {}, which is symbolic", state_->rule.name,
                              symint, at->second.text()));
  return at->second.value();
}

double RuleMatch::number(const std::string& name) const {
  const auto at = state_->match.numbers().find(name);
  if (at == state_->match.numbers().end())
    throw_failure(user_error("rule {}: it has no number {}", state_->rule.name, name));
  return at->second;
}

Tensor RuleMatch::operator[](const std::string& name) const {
  if (!state_->recording)
    throw_failure(user_error("rule {}: `when` asks for the value %{}, which only `make` has",
                             state_->rule.name, name));
  return trace::Access::tensor(state_->recording, state_->value(name));
}

namespace {

Values made_by(const RewriteRule& rule, Builder& b, const GraphMatch& m) {
  Result<Values> made = host_call<Values>("make", [&] {
    const trace::RecordingPtr recording = trace::Recording::borrowed(b);
    const trace::AbandonAtEnd over{*recording};
    const RuleMatch::State state{rule, m, recording};
    Values out;
    for (const Tensor& t : rule.make(RuleMatch(state))) {
      if (!t.defined()) throw_failure(user_error("make: result {} is not defined", out.size()));
      out.push_back(recording->value_of(t, Location::current()));
    }
    return out;
  });
  if (made.ok()) return *std::move(made);
  b.fail(std::move(made).failure());
  return {};
}

}  // namespace

void add_functions(const RewriteRule& rule, const std::shared_ptr<Status>& failed,
                   GraphRuleParts& parts) {
  parts.any = rule.any;
  if (rule.when)
    parts.when = [rule, failed](const GraphMatch& m) {
      if (!failed->ok()) return false;
      const RuleMatch::State state{rule, m};
      const Result<bool> fits =
          host_call<bool>("when", [&] { return rule.when(RuleMatch(state)); });
      if (!fits.ok()) *failed = fits.failure();
      return fits.ok() && *fits;
    };
  if (rule.make)
    parts.make = [rule](Builder& b, const GraphMatch& m) { return made_by(rule, b, m); };
}

}  // namespace cleave
