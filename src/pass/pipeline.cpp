#include "pass/pipeline.h"

#include <algorithm>
#include <chrono>

#include "base/edit_distance.h"
#include "ir/edit.h"
#include "pass/passes.h"
#include "rewrite/rule_set.h"

namespace cleave {
namespace {

constexpr PassStage joint = PassStage::joint;

constexpr PassRow table[] = {
    {joint, 0, fold_constant, "rules of this list look for full alone", "nothing"},
    {joint, 0, drop_noop, "traces and gradients leave them; other rules look past nothing",
     "fold_constant has made fulls of constants"},
    {joint, 0, fold_permute, "pairs come from transposed weights and their gradients",
     "views are functional: no permute is written through"},
    {joint, 0, fold_view, "gradients of views view back",
     "views are functional: none is written through"},
    {joint, 0, fold_convert, "mixed precision and its gradients convert there and back", "nothing"},
    {joint, 0, fold_algebra, "gradients negate, compare and choose again what the forward did",
     "nothing"},
    {joint, 0, scatter_to_where, "gradients of lookups by class, before they are fused or cut",
     "fold_constant has made fulls of constants"},
    {joint, 0, fold_cumsum, "positions are computed from shapes",
     "fold_constant has made fulls of constants"},
    {joint, 1, reuse_extremum, "reductions of one value have been found by then", "nothing"},
    {joint, 2, bmm_to_mm, "attention has been found by then, whose batches may be one",
     "no rule behind it asks for bmm"},
    {joint, 2, cat_mm, "before sums go into its products", "joins of views are folded"},
    {joint, 2, join_mm, "before fuse_addmm, which takes one product of two",
     "no conversion or view of nothing stands between"},
    {joint, 2, fuse_addmm, "behind all rules that look for mm and add",
     "the cut and its recomputation see one form"},
    {joint, 2, unfuse_addmm, "traces hold addmm too", "fuse_addmm asks the opposite"},
    {joint, 2, decompose_mm, "behind fuse_addmm, which looks for products",
     "rows and columns of one have been found: bmm_to_mm"},
};

bool is_off(const PassOptions& options, const std::string& name) {
  return std::ranges::find(options.off, name) != options.off.end();
}

// Rule passes side by side, as one set of rules.
class Group {
 public:
  void add(Pass pass) {
    passes_.push_back({std::move(pass.name), pass.rules.size()});
    std::ranges::move(pass.rules, std::back_inserter(rules_));
  }

  Status run(Graph& graph, const OpRegistry& ops, const PassOptions& options,
             std::vector<PassReport>& reports) {
    if (passes_.empty()) return {};
    const auto begin = std::chrono::steady_clock::now();
    CLEAVE_TRY(const RuleSet set, RuleSet::make(std::move(rules_), ops));
    CLEAVE_TRY(std::vector<RuleCount> counts,
               set.apply(graph, ops, {.strict = options.strict, .times = options.times}));
    auto count = counts.begin();
    int64_t matches = 0;
    const size_t first = reports.size();
    for (const Part& part : passes_) {
      PassReport& report = reports.emplace_back(part.name);
      for (size_t k = 0; k < part.rules; ++k, ++count) {
        report.matches += count->matches;
        report.nodes += count->nodes;
        report.ms += count->ms;
        report.rules.push_back(std::move(*count));
      }
      matches += report.matches;
    }
    if (matches > 0) eliminate_dead_code(graph);
    // What is no rule's own: the walk over the graph.
    double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    for (size_t k = first; k < reports.size(); ++k) ms -= reports[k].ms;
    for (size_t k = first; k < reports.size(); ++k)
      reports[k].ms += ms / static_cast<double>(reports.size() - first);
    passes_.clear();
    rules_.clear();
    return {};
  }

 private:
  struct Part {
    std::string name;
    size_t rules;
  };
  std::vector<Part> passes_;
  std::vector<Rule> rules_;
};

Status check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (const Result<Pass> pass = find_pass(name); !pass.ok()) return Failure(pass.failure());
  return {};
}

}  // namespace

std::string_view name_of(PassStage stage) {
  switch (stage) {
    case PassStage::pre_grad: return "pre_grad";
    case PassStage::joint: return "joint";
    case PassStage::post_grad: return "post_grad";
  }
  return "";
}

std::span<const PassRow> pass_table() { return table; }

Result<std::vector<PassReport>> run_stage(PassStage stage, Graph& graph, const OpRegistry& ops,
                                          const PassOptions& options) {
  CLEAVE_CHECK(check_names(options.off));
  std::vector<PassReport> reports;
  Group group;
  int list = 0;
  for (const PassRow& row : table) {
    if (row.stage != stage) continue;
    Pass pass = row.pass();
    if (is_off(options, pass.name)) continue;
    if (row.list != list || pass.run) CLEAVE_CHECK(group.run(graph, ops, options, reports));
    list = row.list;
    if (!pass.run) {
      group.add(std::move(pass));
      continue;
    }
    CLEAVE_TRY(PassReport report, run_pass(pass, graph, ops, options));
    reports.push_back(std::move(report));
  }
  CLEAVE_CHECK(group.run(graph, ops, options, reports));
  return reports;
}

Result<Pass> find_pass(const std::string& name) {
  NearestName nearest(name);
  for (const PassRow& row : table) {
    Pass pass = row.pass();
    if (pass.name == name) return pass;
    nearest.offer(pass.name);
  }
  const std::string& near = nearest.best();
  return user_error("there is no pass '{}'{}; `cleave opt --list` names all", name,
                    near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
}

}  // namespace cleave
