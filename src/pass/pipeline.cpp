#include "pass/pipeline.h"

#include <algorithm>
#include <chrono>

#include "base/edit_distance.h"
#include "ir/edit.h"
#include "ir/result_strides.h"
#include "pass/function_passes.h"
#include "pass/host_rules.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"
#include "rewrite/rule_set.h"

namespace cleave {
namespace {

constexpr PassStage pre_grad = PassStage::pre_grad, joint = PassStage::joint,
                    freeze = PassStage::freeze, post_grad = PassStage::post_grad,
                    decomposed = PassStage::decomposed;
constexpr bool asked = true, again = true, pays_frozen = true, pays_on_gpu = true;

constexpr PassRow table[] = {
    {pre_grad, 0, normalize_splits, "the families below know splits by sizes only", "nothing"},
    {pre_grad, 0, normalize_dims, "equal calls are equal, whatever wrote them", "nothing"},
    {pre_grad, 0, move_constructors,
     "before drop_identity, which then drops the copies to the device that were there",
     "a program runs on one device"},
    {pre_grad, 0, drop_identity, "what it drops stands between calls that other patterns name",
     "nothing is written in place: a copy is as good as what is copied"},
    {pre_grad, 1, sort_to_topk, "before grad, whose rule for a sort reads all of its indices",
     "dims and views of nothing don't stand between"},
    {pre_grad, 1, pool_to_mean, "before grad: the gradient of a mean is one value for each window",
     "nothing"},
    {pre_grad, 1, fuse_conv_bn,
     "asked for: frozen weights are folded in each run, which pays for large images alone",
     "running statistics don't change within a call", asked, !again, pays_frozen},
    {pre_grad, 1, fold_binary, "asked for: as fuse_conv_bn, whose factors it then meets",
     "frozen state doesn't change within a call", asked, !again, pays_frozen},
    {pre_grad, 1, efficient_conv_bn_eval,
     "asked for: it costs precision where a variance is near 0; before grad, which then keeps less",
     "fuse_conv_bn took what is frozen", asked},
    {pre_grad, 1, permute_linear,
     "asked for: it pays where the copy of a permuted value is large against the product",
     "products read operands by their strides", asked},
    {pre_grad, 1, batch_linear_lhs,
     "asked for: joined weights are a copy in each step; first, as it copies less than "
     "batch_linear",
     "normal forms, so that equal shapes are seen", asked, !again, pays_frozen},
    {pre_grad, 1, batch_linear, "asked for: stacked operands are copies in each step",
     "batch_linear_lhs took products of one operand", asked},
    {pre_grad, 1, batch_layer_norm, "asked for: as batch_linear",
     "no gradient reads mean and deviation yet", asked},
    {pre_grad, 1, batch_activation, "asked for: as batch_linear",
     "the layers before them are batched", asked},
    {pre_grad, 1, batch_arithmetic, "asked for: as batch_linear",
     "the layers before them are batched", asked},
    {pre_grad, 1, merge_splits, "the gradient of one split is one join", "splits are normal"},
    {pre_grad, 1, merge_joins, "the gradient of one join is one set of slices", "dims are normal"},
    {pre_grad, 1, cancel_joins, "after the batches: their stacks and unbinds cancel",
     "splits are normal"},
    {pre_grad, 1, merge_pieces, "with cancel_joins, as each uncovers the other's cases",
     "views are functional: a slice of the whole is what its parts were"},
    {pre_grad, 2, sink_cat, "once no join that could go is left, the rest goes to its producers",
     "the families above are through: a call between piece and join would hide them"},
    {pre_grad, 2, fuse_attention, "before grad, whose rule for attention then makes the backward",
     "no-ops and pairs of views are gone"},
    {pre_grad, 2, slice_early,
     "before grad, which then computes less too; last, as it takes patterns apart",
     "attention is one call"},

    {joint, 0, merge_sizes, "a size that is known is a constant", "nothing"},
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
    {joint, 0, join_softmax_backward, "imported graphs spell it, our own rules don't",
     "aliases are gone"},
    {joint, 0, scatter_to_where, "gradients of lookups by class, before they are fused or cut",
     "fold_constant has made fulls of constants"},
    {joint, 0, fold_cumsum, "positions are computed from shapes",
     "fold_constant has made fulls of constants"},
    {joint, 1, drop_attention_weights, "PyTorch's joint graphs hand weights to the backward",
     "aliases and no-ops are gone"},
    {joint, 1, fuse_attention_joint, "imported graphs hold a backward that is spelled too",
     "no-ops are gone, the gradient of a softmax is one call"},
    {joint, 1, fold_mask, "attention without a mask is one kernel everywhere",
     "both spellings of attention are calls"},
    {joint, 1, reuse_extremum, "reductions of one value have been found by then", "nothing"},
    {joint, 2, bmm_to_mm, "attention has been found by then, whose batches may be one",
     "no rule after it asks for bmm"},
    {joint, 2, cat_mm, "before sums go into its products", "joins of views are folded"},
    {joint, 2, join_mm, "before fuse_addmm, which takes one product of two",
     "no conversion or view of nothing stands between"},
    {joint, 2, fuse_addmm, "after all rules that look for mm and add",
     "the cut and its recomputation see one form"},
    {joint, 2, unfuse_addmm, "traces hold addmm too", "fuse_addmm asks the opposite"},
    {joint, 2, decompose_mm, "after fuse_addmm, which looks for products",
     "rows and columns of one have been found: bmm_to_mm"},
    {joint, 2, fold_constant, "products of constants became elementwise", "nothing", !asked, again},
    {joint, 2, drop_noop, "products that became sums leave them", "nothing", !asked, again},
    {joint, 2, fold_view, "products that became sums leave them",
     "views are functional: none is written through", !asked, again},

    {freeze, 0, unfuse_frozen,
     "in frozen programs: fuse_addmm fused before it was known that the product is computed once",
     "Variables keep their values", asked, !again, pays_frozen},
    {freeze, 0, pack_weights,
     "in frozen programs: the copy in another order is made once, by what fold_frozen takes out",
     "Variables keep their values", asked, !again, pays_frozen},
    {freeze, 1, hoist_frozen,
     "in frozen programs: what the graphs of a call compute each time, fold_frozen takes out then",
     "Variables keep their values", asked, !again, pays_frozen},
    {freeze, 2, fold_frozen,
     "in frozen programs: constants are folded, no pass before it is undone",
     "Variables keep their values", asked, !again, pays_frozen},

    {freeze, 2, compute_once,
     "in programs that aren't frozen, of one size: before the cut, whose budgets count what is "
     "kept",
     "masks and constants of attention have been found"},

    {post_grad, 0, cancel_split_cat, "gradients of joins and of splits meet", "splits by sizes"},
    {post_grad, 0, cancel_cat_split, "gradients of splits and of joins meet", "splits by sizes"},
    {post_grad, 0, merge_slice_cat, "padding by a value's own beginning", "nothing"},
    {post_grad, 0, fuse_int_mm, "the last word on products: no other rule knows the call it makes",
     "conversions that change nothing are gone"},
    {post_grad, 0, fuse_uint4x2_mm, "as fuse_int_mm", "views in a row are one"},
    {post_grad, 0, fuse_convolution_pointwise,
     "the last word on convolutions: batch norms are in them, gradients have been made",
     "fuse_conv_bn and fold_binary have changed their operands"},

    {post_grad, 1, batch_linear_post_grad, "asked for: as batch_linear",
     "no rule after it looks for products", asked},
    {post_grad, 1, batch_pointwise_post_grad, "asked for: as batch_linear",
     "the products before them are batched", asked},
    {post_grad, 1, group_linear,
     "asked for: values live longer; the library joins neighbours that are small",
     "products of equal shapes are batched, if that was asked for too", asked},
    {post_grad, 1, fuse_all_gather_mm,
     "asked for: it pays where ranks read each other's memory; before what moves collectives away",
     "splits and joins that cancel are gone", asked},
    {post_grad, 1, fuse_mm_reduce_scatter, "asked for: as fuse_all_gather_mm",
     "splits and joins that cancel are gone", asked},
    {post_grad, 1, bucket_all_reduce, "all gradients are in one graph, dead ones are gone",
     "all ranks run one program"},
    {post_grad, 1, schedule_collectives, "last, as it orders the collectives that are left",
     "all ranks run one program; nothing after it orders calls otherwise"},

    {decomposed, 0, turn_products, "gradients of weights are products read transposed",
     "products read operands by their strides"},
    {decomposed, 0, add_rows, "gradients of a table that is read twice are summed up",
     "no other rule looks for the sum"},
    {decomposed, 1, sum_products,
     "the gradient of what each step of a recurrence reads is a sum of thin products",
     "products that are read transposed have been turned"},
    {decomposed, 1, recompute_dropout_masks,
     "before the cut and fusion, which then see what needs no operand to be there again",
     "a random call gives the same numbers whenever it runs"},
    {decomposed, 1, join_pads, "gradients of parts pad them to the whole",
     "sums are sums of two: no copy stands between"},
    {decomposed, 1, drop_fold, "norms are sums; before merge_equal, as statistics become equal",
     "no other rule looks for a norm's statistics"},
    {decomposed, 2, channels_last,
     "on a GPU, whose tensor cores read channels in a row: when norms are sums and gradients are "
     "single convolutions; before merge_equal, as a value is seen in the other order many times",
     "sizes are known; nothing after it looks for convolutions or pools", asked, !again,
     !pays_frozen, pays_on_gpu},
    {decomposed, 2, fold_strides,
     "on a GPU, whose tensor cores read 8 channels at once: after channels_last, which makes the "
     "calls that it looks for; before merge_equal, as an image is folded for each of them",
     "nothing after it looks for convolutions", asked, !again, !pays_frozen, pays_on_gpu},
    {decomposed, 2, pool_offsets,
     "on a GPU, where a check of indices is a pass over memory: after channels_last, which finds "
     "poolings by their indices",
     "nothing after it looks for poolings", asked, !again, !pays_frozen, pays_on_gpu},
    {decomposed, 2, turn_folds,
     "on a GPU, whose threads read neighbours of what they fold: after channels_last, behind which "
     "norms of groups read images in another order",
     "nothing after it asks for the dims of a norm", asked, !again, !pays_frozen, pays_on_gpu},
    {decomposed, 2, join_statistics,
     "on a GPU, where columns are longer than a cache: after channels_last and turn_folds, by "
     "which statistics of channels are columns",
     "no other rule looks for a norm", asked, !again, !pays_frozen, pays_on_gpu},
    {decomposed, 2, split_folds,
     "on a GPU, which adds up columns at the speed of memory: after join_statistics, which looks "
     "for single folds; before merge_equal, as steps may be shared",
     "no other rule looks for a fold", asked, !again, !pays_frozen, pays_on_gpu},
    {decomposed, 2, merge_equal,
     "after all that rewrites: calls become equal when their operands are one",
     "nothing is computed twice on purpose but what a tag says"},
    {decomposed, 2, move_to_readers,
     "asked for: fusion and updates in place change what lies in memory, which sizes don't show",
     "calls are what is lowered: steps stand in their order", asked},
};

constexpr std::string_view all_passes = "all";  // in CompileOptions::passes_off

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// What passes_on says of the pass: its name, maybe with settings; null: nothing.
const std::string* asked_text(const CompileOptions& options, const std::string& name) {
  const auto it = std::ranges::find(options.passes_on, std::string_view(name),
                                    [](const std::string& text) { return pass_name_in(text); });
  return it == options.passes_on.end() ? nullptr : &*it;
}

bool runs(const PassRow& row, const CompileOptions& options, const std::string& name) {
  const bool on_gpu = options.target.cuda_arch != 0 || options.device.kind == DeviceKind::cuda;
  const bool is_asked = !row.asked || (row.pays_frozen && options.freeze) ||
                        (row.pays_on_gpu && on_gpu) || asked_text(options, name) != nullptr;
  return is_asked && !contains(options.passes_off, name);
}

// Consecutive rule passes, run as one set of rules.
class Group {
 public:
  void add(Pass pass) {
    passes_.push_back({std::move(pass.name), pass.rules.size()});
    std::ranges::move(pass.rules, std::back_inserter(rules_));
  }

  Status run(Graph& graph, const OpRegistry& ops, const RuleSet::Options& options,
             std::vector<CompilePass>& reports) {
    if (passes_.empty()) return {};
    const auto begin = std::chrono::steady_clock::now();
    CLEAVE_TRY(const RuleSet set, RuleSet::make(std::move(rules_), ops));
    CLEAVE_TRY(std::vector<RuleCount> counts, set.apply(graph, ops, options));
    auto count = counts.begin();
    int64_t matches = 0;
    const size_t first = reports.size();
    for (const Part& part : passes_) {
      CompilePass& report = reports.emplace_back(part.name);
      for (size_t k = 0; k < part.rules; ++k, ++count) {
        report.matches += count->matches;
        report.nodes += count->nodes;
        report.ms += count->ms;
        report.rules.push_back(std::move(*count));
      }
      matches += report.matches;
    }
    if (matches > 0) eliminate_dead_code(graph);
    // Time that no single rule accounts for: the walk over the graph.
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

Status run_table(PassStage stage, Graph& graph, const OpRegistry& ops,
                 const CompileOptions& options, RuleTimes times,
                 std::vector<CompilePass>& reports) {
  const RuleSet::Options rules{.strict = options.strict, .times = times == RuleTimes::measured};
  Group group;
  int list = 0;
  for (const PassRow& row : table) {
    if (row.stage != stage) continue;
    Pass pass = row.pass();
    if (!runs(row, options, pass.name)) continue;
    if (const std::string* text = asked_text(options, pass.name)) {
      CLEAVE_TRY(pass, with_settings(std::move(pass), *text));
    }
    if (row.list != list || pass.run) CLEAVE_CHECK(group.run(graph, ops, rules, reports));
    list = row.list;
    if (!pass.run) {
      group.add(std::move(pass));
      continue;
    }
    CLEAVE_TRY(CompilePass report, run_pass(pass, graph, ops, options, times));
    reports.push_back(std::move(report));
  }
  CLEAVE_CHECK(group.run(graph, ops, rules, reports));
  return {};
}

// With other users, a value's gradients are added in another order, which changes the sum.
bool moves_gradients(PassStage stage, const Graph& graph) {
  return stage == PassStage::pre_grad &&
         std::ranges::any_of(graph.placeholders(), [](const Placeholder& p) {
           return p.wants_grad || p.role == Role::param;
         });
}

}  // namespace

std::string_view name_of(PassStage stage) {
  switch (stage) {
    case PassStage::pre_grad: return "pre_grad";
    case PassStage::joint: return "joint";
    case PassStage::freeze: return "freeze";
    case PassStage::post_grad: return "post_grad";
    case PassStage::decomposed: return "decomposed";
  }
  return "";
}

std::span<const PassRow> pass_table() { return table; }

Result<std::vector<CompilePass>> run_stage(PassStage stage, Graph& graph, const OpRegistry& ops,
                                           const CompileOptions& options, RuleTimes times) {
  std::vector<std::string> off = options.passes_off;
  const bool none = std::erase(off, all_passes) > 0;
  for (const RewriteRule& rule : options.rules) std::erase(off, rule.name);
  for (const FunctionPass& pass : options.functions) std::erase(off, pass.name);
  CLEAVE_CHECK(check_function_passes(options));
  for (const std::string& name : off)
    if (name.find(':') != std::string::npos)
      return user_error("passes_off: {}: expected a pass without settings", name);
  CLEAVE_CHECK(check_names(off));
  CLEAVE_CHECK(check_names(options.passes_on));
  eliminate_dead_code(graph);  // a dead user must not count as one
  const ResultStrides strides(graph);
  std::vector<CompilePass> reports;
  const auto of_host = [&](PassStage of, RulePoint point) -> Status {
    if (stage != of) return {};
    CLEAVE_CHECK(run_host_rules(point, graph, ops, options, times, reports));
    return run_function_passes(point, graph, ops, options, reports);
  };
  CLEAVE_CHECK(of_host(PassStage::pre_grad, RulePoint::pre_grad));
  CLEAVE_CHECK(of_host(PassStage::joint, RulePoint::joint));
  CLEAVE_CHECK(of_host(PassStage::post_grad, RulePoint::before_post_grad));
  if (!none && !(options.strict && moves_gradients(stage, graph)))
    CLEAVE_CHECK(run_table(stage, graph, ops, options, times, reports));
  CLEAVE_CHECK(of_host(PassStage::post_grad, RulePoint::after_post_grad));
  CLEAVE_CHECK(strides.restore(graph, ops));
  return reports;
}

bool is_pass(const std::string& name) { return name == all_passes || find_pass(name).ok(); }

Result<Pass> find_pass(const std::string& text) {
  const std::string name(pass_name_in(text));
  NearestName nearest(name);
  for (const PassRow& row : table) {
    Pass pass = row.pass();
    if (pass.name == name) return with_settings(std::move(pass), text);
    nearest.offer(pass.name);
  }
  const std::string& near = nearest.best();
  return user_error("there is no pass '{}'{}; `cleave opt --list` names all", name,
                    near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
}

}  // namespace cleave
