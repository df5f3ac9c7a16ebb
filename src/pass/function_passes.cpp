#include "pass/function_passes.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <set>

#include "base/host_call.h"
#include "cleave/options.h"
#include "ir/edit.h"
#include "ir/text.h"
#include "pass/pipeline.h"

namespace cleave {
namespace {

// "%x: input f32[3] grad"
std::string text_of(const Graph& g, const Placeholder& p) {
  std::string out = fmt::format("%{}: {}", g.name(p.value), name_of(p.role));
  if (p.role == Role::symint) {
    out += fmt::format(" range({},{})", p.sym.range.lo, p.sym.range.hi);
    if (p.sym.hint) out += fmt::format(" hint({})", *p.sym.hint);
    return out;
  }
  return out + fmt::format(" {}{}", g.type(p.value).text(), p.wants_grad ? " grad" : "");
}

// "result f32[3]", "update of %w", "gradient of %w"
std::string text_of(const Graph& g, const Return& r) {
  Type type = g.type(r.value);
  type.strides.reset();  // are restored behind the stage
  if (r.kind == ReturnKind::result) return fmt::format("a result {}", type.text());
  return fmt::format("{} of %{}, {}", r.kind == ReturnKind::update ? "an update" : "the gradient",
                     g.name(r.target), type.text());
}

template <class T>
Status check_equal(std::string_view what, const Graph& before, const std::vector<T>& wanted,
                   const Graph& after, const std::vector<T>& got) {
  for (size_t k = 0; k < std::min(wanted.size(), got.size()); ++k) {
    const std::string a = text_of(before, wanted[k]), b = text_of(after, got[k]);
    if (a != b) return user_error("{} {} of its graph is {}, expected {}", what, k, b, a);
  }
  if (wanted.size() == got.size()) return {};
  return user_error("its graph has {} {}s, expected {}", got.size(), what, wanted.size());
}

// Replaces the calls and the returns of `graph` by those of the other, whose placeholders are the
// same: these stay, since others know them by their ids.
Status take_calls(const Graph& from, Graph& graph) {
  graph.set_returns({});
  for (const NodeId n : std::views::reverse(graph.order())) graph.erase(n);
  std::unordered_map<uint32_t, ValueId> now;
  for (size_t k = 0; k < graph.placeholders().size(); ++k)
    now[from.placeholders()[k].value.v] = graph.placeholders()[k].value;
  CLEAVE_CHECK(copy_nodes(from, from.order(), graph, now));
  std::vector<Return> returns = from.returns();
  for (Return& r : returns) {
    r.value = now.at(r.value.v);
    if (r.target.valid()) r.target = now.at(r.target.v);
  }
  graph.set_returns(std::move(returns));
  return {};
}

// The calls of `before`, as text, that `after` doesn't have.
int64_t replaced(const Graph& before, const Graph& after) {
  std::multiset<std::string> kept;
  for (const NodeId n : after.order()) kept.insert(print_node(after, n));
  int64_t out = 0;
  for (const NodeId n : before.order()) {
    const auto same = kept.find(print_node(before, n));
    if (same == kept.end())
      ++out;
    else
      kept.erase(same);
  }
  return out;
}

Status run(const FunctionPass& pass, Graph& graph, const OpRegistry& ops, CompilePass& report) {
  const std::string before = print(graph);
  CLEAVE_TRY(const std::string after,
             host_call<std::string>("", [&] { return pass.function(before); }));
  if (after == before) return {};
  CLEAVE_TRY(Program program, parse(after, "its graph", ops));
  CLEAVE_CHECK(verify(program));
  const Graph& made = program.main;
  CLEAVE_CHECK(check_equal("placeholder", graph, graph.placeholders(), made, made.placeholders()));
  CLEAVE_CHECK(check_equal("return", graph, graph.returns(), made, made.returns()));
  report.matches = 1;
  report.nodes = replaced(graph, made);
  return take_calls(made, graph);
}

}  // namespace

Status check_function_passes(const CompileOptions& options) {
  std::set<std::string> names;
  for (const RewriteRule& rule : options.rules) names.insert(rule.name);
  for (const FunctionPass& pass : options.functions) {
    if (pass.name.empty()) return user_error("functions: a pass has no name");
    if (!pass.function) return user_error("functions: {} has no function", pass.name);
    if (!names.insert(pass.name).second || is_pass(pass.name))
      return user_error("functions: {}: another pass has this name", pass.name);
  }
  return {};
}

Status run_function_passes(RulePoint point, Graph& graph, const OpRegistry& ops,
                           const CompileOptions& options, std::vector<CompilePass>& reports) {
  using Clock = std::chrono::steady_clock;
  for (const FunctionPass& pass : options.functions) {
    if (pass.point != point || std::ranges::count(options.passes_off, pass.name) > 0) continue;
    const auto begin = Clock::now();
    CompilePass report{pass.name};
    if (Status s = run(pass, graph, ops, report); !s.ok())
      return std::move(s).failure().within(fmt::format("pass {}", pass.name));
    report.ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    reports.push_back(std::move(report));
  }
  return {};
}

}  // namespace cleave
