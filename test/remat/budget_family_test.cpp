// Programs under memory budgets.
// tests: parse_budget.cpp
// tests: program_tasks.cpp
#include "test/sample/check_budgets.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "cleave/cleave.h"
#include "compile/stage_planner.h"
#include "grad/grad.h"
#include "op/registry.h"
#include "remat/budget_family.h"
#include "remat/parse_budget.h"
#include "test/prepared.h"
#include "test/random_inputs.h"
#include "test/targets.h"

namespace cleave {
namespace {

// Without tangents the forward is what the results need.
TEST(Budget, random_steps_keep_their_bits_and_their_budgets) {
  const OpRegistry ops = value_or_throw(core_ops());
  int64_t recomputing = 0;
  for (uint64_t seed = 100; seed < 140; ++seed) {
    const random::RandomStep step = value_or_throw(random::as_step(value_or_throw(
        random::with_gradients(value_or_throw(random::random_graph(ops, seed, {})), ops, seed))));
    const Result<random::BudgetVerdict> v =
        random::check_budgets(step.r, ops, {0, .25, .5, .75, 1}, {}, step.forward_results);
    if (!v.ok() && v.failure().kind == ErrorKind::unsupported) continue;
    ASSERT_TRUE(v.ok()) << "seed " << seed << ": " << v.failure().message;
    EXPECT_EQ(v->violation, "") << "seed " << seed;
    recomputing += v->recomputing;
  }
  EXPECT_GT(recomputing, 5);
}

TEST(Budget, random_graphs_keep_their_bits_and_their_budgets) {
  const OpRegistry ops = value_or_throw(core_ops());
  int64_t programs = 0, recomputing = 0, offloading = 0;
  std::vector<uint64_t> seeds(40);
  std::iota(seeds.begin(), seeds.end(), 0);
  // Regressions: results of which no step reads an element, a result over an operand, a call that
  // both checks and writes in place.
  seeds.insert(seeds.end(), {600239, 600458, 600818, 601057, 701696});
  seeds.insert(seeds.end(), {46, 66, 74});  // whose values go to the host's memory
  for (const uint64_t seed : seeds) {
    const random::RandomGraph r = value_or_throw(
        random::with_gradients(value_or_throw(random::random_graph(ops, seed, {})), ops, seed));
    const Result<random::BudgetVerdict> v = random::check_budgets(r, ops, {0, .25, .5, .75, 1});
    if (!v.ok() && v.failure().kind == ErrorKind::unsupported) continue;
    ASSERT_TRUE(v.ok()) << "seed " << seed << ": " << v.failure().message;
    EXPECT_EQ(v->violation, "") << "seed " << seed;
    programs += v->programs;
    recomputing += v->recomputing;
    offloading += v->offloading;
  }
  EXPECT_GT(programs, 40);
  EXPECT_GT(recomputing, 10);
  EXPECT_GT(offloading, 2);
}

BudgetFamily family_of(const std::string& text, bool fuse = true, Target target = Target::here()) {
  Graph g = test::parsed(text);
  value_or_throw(test::prepare_unfused(g));
  StageOptions options;
  options.target = target;
  options.fuse = fuse;
  BudgetFamily family =
      value_or_throw(BudgetFamily::make(g, std::make_shared<StagePlanner>(test::core(), options)));
  value_or_throw(family.complete());
  return family;
}

int64_t min_peak(BudgetFamily& family) {
  int64_t least = value_or_throw(family.whole_peak());
  for (size_t k = 0; k < family.members().size(); ++k)
    least = std::min(least, value_or_throw(family.peak(k)));
  return least;
}

// Some member takes less than what recomputes nothing, and the lower bound isn't above it.
void expect_bound_below_gain(BudgetFamily& family) {
  const int64_t least = min_peak(family);
  EXPECT_LT(least, value_or_throw(family.whole_peak()));
  EXPECT_GE(least, value_or_throw(family.lower_bound()).bytes);
}

// A call of two results, 16 and 32 KiB, then 96 KiB that are summed up.
const std::string sorted_then_wide =
    "graph @main(%x: input f32[64,64]) {\n"
    "  %v, %i = sort(%x; dim=1)\n"
    "  %c = sum(%i)\n"
    "  %w = repeat(%c; repeats=[8192])\n"
    "  %d = _to_copy(%w; dtype=f32)\n"
    "  %e = sum(%d)\n";

// Of two results of a call %i (32 KiB) is read early and %v (16 KiB) late: at the peak, %w and
// %d, only %v is there.
TEST(Budget, one_of_two_results_is_freed_early) {
  BudgetFamily family = family_of(sorted_then_wide +
                                      "  %r = add(%v, %e)\n"
                                      "  return %r\n}\n",
                                  false);
  constexpr int64_t kib = 1024, all = (16 + 16 + 32 + 64 + 32) * kib;
  EXPECT_LT(value_or_throw(family.whole_peak()), all - 31 * kib);
  EXPECT_EQ(family.members().front().modelled_peak, (16 + 64 + 32) * kib);
}

// What surely doesn't fit isn't lowered, and what is chosen is the cheapest that fits.
TEST(Budget, programs_far_above_a_budget_are_not_lowered) {
  std::string text = "graph @main(%x0: input f32[512,64], %w: param f32[64,64] grad) {\n";
  for (int k = 0; k < 12; ++k)
    text += fmt::format(
        "  %p{0} = mm(%x{0}, %w)\n  %e{0} = exp(%p{0})\n"
        "  %x{1} = sin(%e{0})\n",
        k, k + 1);
  text += "  %l = sum(%x12)\n  return %l\n}\n";
  Graph g = test::parsed(text);
  g = value_or_throw(make_joint(g, test::core()));
  value_or_throw(test::prepare_unfused(g));
  const auto planner = std::make_shared<StagePlanner>(test::core(), StageOptions());
  BudgetFamily all = value_or_throw(BudgetFamily::make(g, planner));
  value_or_throw(all.complete());
  const int64_t whole = value_or_throw(all.whole_peak()), least = min_peak(all);
  ASSERT_LT(least, whole / 4 * 3);
  size_t left_out = 0;
  for (const int64_t budget : {least, least + (whole - least) / 4, least + (whole - least) / 2}) {
    BudgetFamily family = value_or_throw(BudgetFamily::make(g, planner));
    const BudgetFamily::Choice choice = value_or_throw(family.choose(budget));
    EXPECT_LE(choice.peak, budget);
    for (size_t k = 0; k < family.members().size(); ++k) {
      const FamilyMember& m = family.members()[k];
      if (family.offered_from(k) > budget) {
        EXPECT_EQ(m.min_peak, 0) << k;
        ++left_out;
      } else if (!m.candidate && value_or_throw(family.peak(k)) <= budget) {
        EXPECT_GE(m.recompute_ns, family.members()[choice.member].recompute_ns) << k;
      }
    }
  }
  EXPECT_GT(left_out, 6u);
}

// Programs that take an eighth of what their tasks do: lowering may lay much over other memory.
class SavingPlanner : public StagePlanner {
 public:
  using StagePlanner::StagePlanner;
  Result<ProgramBytes> bytes(const Graph& graph, const Wanted& wanted) override {
    const auto saved = [](ProgramBytes b) {
      b.arena /= 8;
      return b;
    };
    CLEAVE_TRY(const ProgramBytes all, StagePlanner::bytes(graph, [&](const ProgramBytes& least) {
                 return wanted(saved(least));
               }));
    return saved(all);
  }
};

TEST(Budget, a_program_is_offered_at_the_least_peak_of_all) {
  Graph g = test::parsed(sorted_then_wide +
                         "  %s = add(%v, %e)\n"
                         "  %t = add(%i, %c)\n"
                         "  return %s, %t\n"
                         "}\n");
  value_or_throw(test::prepare_unfused(g));
  const auto make = [&] {
    return value_or_throw(
        BudgetFamily::make(g, std::make_shared<SavingPlanner>(test::core(), StageOptions())));
  };
  BudgetFamily all = make();
  value_or_throw(all.complete());
  const int64_t least = min_peak(all);
  for (size_t k = 0; k < all.members().size(); ++k) EXPECT_GT(all.offered_from(k), least) << k;
  EXPECT_EQ(value_or_throw(make().choose(least)).peak, least);
  EXPECT_NE(make().choose(least - 1).failure().message.find(fmt::format("least {} B", least)),
            std::string::npos);
}

// Both results are read before the peak (%b) and after it: the call runs a second time, once for
// both of them, which costs what one run costs.
TEST(Budget, results_of_one_call_are_made_again_together) {
  BudgetFamily family = family_of(
      "graph @main(%x: input f32[64,64]) {\n"
      "  %v, %i = sort(%x; dim=1)\n"
      "  %p = sum(%v)\n"
      "  %q = sum(%i)\n"
      "  %s = add(%p, %q)\n"
      "  %b = repeat(%s; repeats=[32768])\n"
      "  %e = sum(%b)\n"
      "  %f = add(%v, %e)\n"
      "  %r = gather(%f, %i; dim=1)\n"
      "  return %r\n}\n",
      false);
  constexpr int64_t kib = 1024;
  const int64_t whole = value_or_throw(family.whole_peak());
  bool found = false;
  for (size_t k = 0; k < family.members().size(); ++k) {
    const Graph g = value_or_throw(family.program(k));
    std::vector<NodeId> sorts;
    for (const NodeId n : g.order())
      if (g.node(n).op->name == "sort") sorts.push_back(n);
    if (sorts.size() != 2 || value_or_throw(family.peak(k)) > whole - 40 * kib) continue;
    found = true;
    EXPECT_LT(family.members()[k].recompute_ns, 2 * call_ns(g, sorts[0], MachineRates{}));
  }
  EXPECT_TRUE(found);
}

// A kernel's result that nothing reads (%y) may be written over an operand.
TEST(Budget, the_lower_bound_counts_nothing_twice) {
  BudgetFamily family = family_of(
      "graph @body(%a: input f32[6,40]) {\n"
      "  %m = mean(%a; dim=[1], keepdim=true)\n"
      "  %y = sub(%a, %m)\n"
      "  return %y, %m\n}\n"
      "graph @main(%x: input f32[40]) {\n"
      "  %r = repeat(%x; repeats=[6])\n"
      "  %a = reshape(%r; shape=[6,40])\n"
      "  %y, %m = fused([%a]; body=@body)\n"
      "  return %m\n}\n");
  EXPECT_GE(min_peak(family), value_or_throw(family.lower_bound()).bytes);
  // %a and %b are made in %z.
  family = family_of(
      "graph @main(%x: input f32[64,64], %w: input f32[64,64]) {\n"
      "  %a = mm(%x, %x)\n"
      "  %b = mm(%x, %w)\n"
      "  %z = cat([%a, %b])\n"
      "  return %z\n}\n");
  EXPECT_GE(min_peak(family), value_or_throw(family.lower_bound()).bytes);
}

// Another program may make each of two results with its own call: %g alone is written over %exp,
// while a call that makes %sum and %g has both and %exp in memory.
TEST(Budget, the_lower_bound_knows_that_results_can_be_made_apart) {
  BudgetFamily family = family_of(
      "graph @main(%x: input bf16[42,7,13], %t1: input bf16[1], %t2: input bf16[2,13]) {\n"
      "  %var = var(%x; dim=[0,1,2], keepdim=true, correction=0)\n"
      "  %exp = exp(%x)\n"
      "  %sum = sum(%exp; dim=[0], keepdim=true)\n"
      "  %one = reshape(%var; shape=[-1])\n"
      "  %ones = repeat(%one; repeats=[26])\n"
      "  %rows = reshape(%ones; shape=[2,13])\n"
      "  %flat = reshape(%x; shape=[-1])\n"
      "  %slice = slice(%flat; start=0, end=13)\n"
      "  %weight = _to_copy(%slice; dtype=f32)\n"
      "  %y, %rstd = _fused_rms_norm(%rows, %weight; normalized_shape=[13], eps=1e-05)\n"
      "  %dy = _to_copy(%t2; dtype=f32)\n"
      "  %row32 = _to_copy(%rows; dtype=f32)\n"
      "  %dx, %dw = _fused_rms_norm_backward(%dy, %row32, %rstd, %weight; "
      "    normalized_shape=[13], output_mask=[true,true])\n"
      "  %dx16 = _to_copy(%dx; dtype=bf16)\n"
      "  %dw16 = _to_copy(%dw; dtype=bf16)\n"
      "  %padded = constant_pad_nd(%dw16; pad=[0,3809])\n"
      "  %view = view(%padded; size=[42,7,13])\n"
      "  %view_2 = view(%dx16; size=[26,1])\n"
      "  %sum_1 = sum(%view_2; dim=[0])\n"
      "  %first = add(%t1, %sum_1)\n"
      "  %g = add(%view, %exp)\n"
      "  %sum_2 = sum(%g; dim=[0,1,2], keepdim=true)\n"
      "  %second = add(%first, %sum_2)\n"
      "  %x32 = _to_copy(%x; dtype=f32)\n"
      "  %dvar = _to_copy(%second; dtype=f32)\n"
      "  %mean = mean(%x32; dim=[0,1,2], keepdim=true)\n"
      "  %sub_1 = sub(%x32, %mean)\n"
      "  %mul_7 = mul(%sub_1, %dvar)\n"
      "  %d = _to_copy(%mul_7; dtype=bf16)\n"
      "  %r = add(%g, %d)\n"
      "  return %sum, %r\n"
      "}\n");
  const int64_t least = min_peak(family);
  EXPECT_LT(least, 16'000);  // %g is made apart
  EXPECT_GE(least, value_or_throw(family.lower_bound()).bytes);
}

// %seed is a view of a placeholder, so no step makes it: its readers come after the call all the
// same, also if another result of the call is copied to be returned.
TEST(Budget, what_reads_a_view_that_a_call_gives_comes_after_it) {
  BudgetFamily family = family_of(
      "graph @main(%q: input f32[1,1,3,24], %rng: rng_state i64[2]) {\n"
      "  %o, %l, %seed, %offset = _scaled_dot_product_efficient_attention(%q, %q, %q, none, %rng;"
      " compute_log_sumexp=true, dropout_p=0.5)"
      " : f32[1,1,3,24]{1,0,288,12}, f32[1,1,32], i64[], i64[]\n"
      "  %r = repeat(%seed; repeats=[3125])\n"
      "  %f = _to_copy(%r; dtype=f32)\n"
      "  %s = sum(%f)\n"
      "  return %o, %s\n}\n",
      false);
  for (size_t k = 0; k < family.members().size(); ++k)
    EXPECT_TRUE(verify(value_or_throw(family.program(k))).ok()) << k;
}

// If %c is computed again for %f, since %b doesn't fit beside it, the product reads %x unconverted.
// %b (372 KiB) is less than %c, %d and %p (384 KiB), which the bound may not count together.
TEST(Budget, the_lower_bound_knows_that_products_may_convert) {
  BudgetFamily family = family_of(
      "graph @main(%x: input f16[8,64,64], %w: input f32[8,64,64], %z: input f32[8,64,64],"
      " %y: input f32[95232]) {\n"
      "  %c = _to_copy(%x; dtype=f32)\n"
      "  %d = exp(%w)\n"
      "  %p = bmm(%c, %d)\n"
      "  %q = sum(%p)\n"
      "  %b = mul(%y, %q)\n"
      "  %e = sum(%b)\n"
      "  %f = mul(%c, %z)\n"
      "  %r = add(%f, %e)\n"
      "  return %r\n}\n",
      false, {InstructionSet::avx512});
  expect_bound_below_gain(family);
}

// If %s is computed again for %r alone, it has a layout in which %r is a view of it.
TEST(Budget, the_lower_bound_knows_that_views_may_not_copy) {
  BudgetFamily family = family_of(
      "graph @main(%x: input f32[11,7,31]) {\n"
      "  %s = sin(%x)\n"
      "  %p = permute(%s; dims=[1,0,2])\n"
      "  %m = sum(%p; dim=[0,2])\n"
      "  %n = exp(%m)\n"
      "  %r = reshape(%p; shape=[2387])\n"
      "  %t = slice(%r; start=0, end=61)\n"
      "  %u = exp(%t)\n"
      "  return %n, %u\n}\n",
      false);
  expect_bound_below_gain(family);
}

TEST(Budget, text) {
  EXPECT_EQ(value_or_throw(parse_budget("64MiB")).bytes(0), 64 << 20);
  EXPECT_EQ(value_or_throw(parse_budget("1048576")).bytes(0), 1048576);
  EXPECT_EQ(value_or_throw(parse_budget("60%")).bytes(1000), 600);
  for (const char* wrong : {"", "0", "0%", "-5%", "101%", "nan%", "12x", "-1", "1e99GiB", "%"}) {
    const Result<MemoryBudget> b = parse_budget(wrong);
    ASSERT_FALSE(b.ok()) << wrong;
    EXPECT_EQ(b.failure().kind, ErrorKind::user) << wrong;
  }
}

// Dropout between wide layers: recomputed values must have the same bits.
struct Dropped : nn::Module {
  explicit Dropped(Generator& rng) {
    for (int k = 0; k < 6; ++k)
      layers.push_back(add_module("l" + std::to_string(k), nn::Linear(32, 32, rng)));
  }
  Tensor block(const Tensor& x, size_t k) const { return x + dropout(gelu(layers[k](x)), 0.3); }
  Tensor loss(const Tensor& x) const {
    Tensor y = x;
    for (size_t k = 0; k < layers.size(); ++k) y = block(y, k);
    return mean(y * y);
  }
  std::vector<nn::Linear> layers;
};

const std::vector<InputSpec> wide = {{"x", DType::f32, {256, 32}}};

struct Ran {
  int64_t peak = 0, products = 0;
};

std::vector<double> losses(const TracedFunction& loss, const Dropped& model,
                           const TrainOptions& options, Ran* ran = nullptr) {
  TrainStep step = train_step(model, loss, optim::SGD({.lr = 0.1}), wide, options);
  Generator rng(3);
  const HostTensor x = rng.normal({256, 32});
  step.watch_memory();
  std::vector<double> out;
  for (int k = 0; k < 4; ++k) out.push_back(step.run({x}).loss);
  EXPECT_EQ(step.measured_peak_bytes(), step.report().planned_peak_bytes);
  if (!ran) return out;
  ran->peak = step.measured_peak_bytes();
  step.profile_kernels(true);
  step.run({x});
  for (const StepTime& t : step.step_times()) ran->products += t.kind == "product";
  return out;
}

TEST(Budget, a_training_step_with_dropout_has_the_same_losses) {
  Generator rng(0);
  Dropped model(rng);
  const auto loss = [&model](const Tensor& x) { return model.loss(x); };
  const std::vector<MemoryTrade> trades =
      memory_trades(model, loss, optim::SGD({.lr = 0.1}), wide, {.seed = 9});
  ASSERT_GT(trades.size(), 3u);
  EXPECT_EQ(trades.front().recompute_ns, 0);
  EXPECT_LT(trades.back().peak_bytes, trades.front().peak_bytes * 3 / 4);
  Generator same(0);
  Dropped first(same);
  const std::vector<double> want =
      losses([&first](const Tensor& x) { return first.loss(x); }, first, {.seed = 9});
  for (size_t k = 0; k < trades.size(); k += 2) {
    if (k > 0) {
      EXPECT_LT(trades[k].peak_bytes, trades[k - 1].peak_bytes);
      EXPECT_GE(trades[k].recompute_ns, trades[k - 1].recompute_ns);
    }
    Generator again(0);
    Dropped other(again);
    Ran ran;
    EXPECT_EQ(losses([&other](const Tensor& x) { return other.loss(x); }, other,
                     {.compile = {.memory_budget = trades[k].peak_bytes}, .seed = 9}, &ran),
              want);
    EXPECT_EQ(ran.peak, trades[k].peak_bytes);
  }
}

// The prices are those of the program that these options give.
TEST(Budget, trades_are_those_of_the_program_that_runs) {
  const auto loss_of = [](const nn::Linear& layer) {
    return [&layer](const Tensor& x) {
      const Tensor y = x + relu(x);
      const Tensor scores = matmul(layer(y), y.transpose(1, 2)) / 5.0;
      return mean(matmul(softmax(scores, -1), y).transpose(1, 2).transpose(1, 2));
    };
  };
  const RewriteRule rule{.name = "double",
                         .text =
                             "graph @search(%x: input f32[2]) {\n  %r = relu(%x)\n"
                             "  %y = add(%x, %r)\n  return %y\n}\n"
                             "graph @replace(%x: input f32[2]) {\n  %y = mul(%x; other=2.0)\n"
                             "  return %y\n}\n",
                         .point = RulePoint::joint};
  const std::vector<InputSpec> specs = {{"x", DType::f32, {4, 24, 16}}};
  std::set<std::vector<int64_t>> seen;
  for (const CompileOptions& compile :
       {CompileOptions{}, CompileOptions{.passes_off = {"all"}}, CompileOptions{.strict = true},
        CompileOptions{.passes_off = {"all"}, .rules = {rule}}, CompileOptions{.rules = {rule}}}) {
    Generator rng(1);
    nn::Linear layer(16, 16, rng);
    const optim::AdamW adamw({});
    std::vector<int64_t> peaks;
    for (const MemoryTrade& t :
         memory_trades(layer, loss_of(layer), adamw, specs, {.compile = compile})) {
      TrainOptions within{.compile = compile};
      within.compile.memory_budget = t.peak_bytes;
      const TrainStep step = train_step(layer, loss_of(layer), adamw, specs, within);
      EXPECT_EQ(step.report().planned_peak_bytes, t.peak_bytes);
      EXPECT_EQ(step.report().recompute_ns, t.recompute_ns);
      peaks.push_back(t.peak_bytes);
    }
    EXPECT_FALSE(peaks.empty());
    seen.insert(peaks);
  }
  EXPECT_GE(seen.size(), 2u);
}

// A step of several runs has two programs: trades and percentages are of that which updates.
TEST(Budget, of_a_step_that_accumulates) {
  const std::vector<InputSpec> specs = {{"x", DType::f32, {128, 64}}};
  const auto step_within = [&](const MemoryBudget& budget) {
    Generator rng(1);
    const nn::Sequential model(nn::Linear(64, 64, rng), nn::Tanh(), nn::Linear(64, 64, rng),
                               nn::Tanh(), nn::Linear(64, 64, rng));
    const auto loss = [model](const Tensor& x) { return square(model(x)).mean(); };
    TrainOptions options{.accumulate = 2};
    options.compile.memory_budget = budget;
    std::vector<MemoryTrade> trades;
    if (!budget.given()) trades = memory_trades(model, loss, optim::AdamW({}), specs, options);
    return std::pair(train_step(model, loss, optim::AdamW({}), specs, options), trades);
  };
  const auto [plain, trades] = step_within({});
  const auto whole = static_cast<double>(plain.report().planned_peak_bytes);
  ASSERT_GT(trades.size(), 1u);
  int percentages = 0;
  for (const MemoryTrade& t : trades) {
    TrainStep step = step_within(t.peak_bytes).first;
    EXPECT_EQ(step.report().planned_peak_bytes, t.peak_bytes);
    step.watch_memory();
    const HostTensor x(DType::f32, {128, 64});
    for (int run = 0; run < 2; ++run) {
      step.run({x});
      EXPECT_LE(step.measured_peak_bytes(), t.peak_bytes) << run;
    }
    const double percent = 100 * static_cast<double>(t.peak_bytes + 1) / whole;
    if (percent > 100) continue;
    ++percentages;
    EXPECT_EQ(step_within(MemoryBudget::percent(percent)).first.report().planned_peak_bytes,
              t.peak_bytes);
  }
  EXPECT_GT(percentages, 0);
}

TEST(Budget, one_that_cannot_be_met_names_the_least) {
  Generator rng(0);
  Dropped model(rng);
  const auto loss = [&model](const Tensor& x) { return model.loss(x); };
  try {
    train_step(model, loss, optim::SGD({.lr = 0.1}), wide, {.compile = {.memory_budget = 1000}});
    FAIL() << "a budget of 1000 B was met";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::user);
    const std::string text = e.what();
    EXPECT_NE(text.find("a memory budget of 1000 B"), std::string::npos) << text;
    EXPECT_NE(text.find("least peak found"), std::string::npos) << text;
    EXPECT_NE(text.find("no program takes less than"), std::string::npos) << text;
  }
  EXPECT_THROW(
      train_step(model, loss, optim::SGD({.lr = 0.1}), wide, {.compile = {.memory_budget = 0}}),
      Error);
}

class CheckpointOn : public testing::TestWithParam<Target> {};
INSTANTIATE_TEST_SUITE_P(Targets, CheckpointOn, testing::ValuesIn(test::targets_here()),
                         [](const auto& info) { return test::name_of(info.param); });

TEST_P(CheckpointOn, marked_blocks_run_again_with_the_same_bits) {
  Generator one(0), two(0), three(0);
  Dropped plain(one), marked(two), chosen(three);
  Ran whole, less, kept;
  const TrainOptions options{.compile = {.target = GetParam()}, .seed = 9};
  const std::vector<double> want =
      losses([&](const Tensor& x) { return plain.loss(x); }, plain, options, &whole);
  const auto in_blocks = [](const Dropped& m, const PolicyFunction& policy) {
    return [&m, policy](const Tensor& x) {
      Tensor y = x;
      for (size_t k = 0; k < m.layers.size(); ++k)
        y = checkpoint([&m, k](const Tensor& t) { return m.block(t, k); }, {y}, policy)[0];
      return mean(y * y);
    };
  };
  EXPECT_EQ(losses(in_blocks(marked, {}), marked, options, &less), want);
  EXPECT_LT(less.peak, whole.peak * 4 / 5);
  EXPECT_GT(less.products, whole.products);
  const PolicyFunction products = [](std::string_view op) {
    return op == "addmm" || op == "mm" ? CheckpointPolicy::must_save
                                       : CheckpointPolicy::prefer_recompute;
  };
  // Without tags, very cheap calls run again anyway: the policy keeps the products from running
  // again, at the cost of memory for their results.
  EXPECT_EQ(losses(in_blocks(chosen, products), chosen, options, &kept), want);
  EXPECT_EQ(kept.products, whole.products);
  EXPECT_LT(less.peak, kept.peak * 4 / 5);
}

TEST(Checkpoint, nests) {
  Generator one(0), two(0);
  Dropped plain(one), nested(two);
  const std::vector<double> want =
      losses([&](const Tensor& x) { return plain.loss(x); }, plain, {.seed = 9});
  const auto twice = [&](const Tensor& x) {
    const Tensor y = checkpoint(
        [&](const Tensor& t) {
          Tensor u = t;
          for (size_t k = 0; k < 6; ++k)
            u = checkpoint([&, k](const Tensor& v) { return nested.block(v, k); }, {u})[0];
          return u;
        },
        {x})[0];
    return mean(y * y);
  };
  EXPECT_EQ(losses(twice, nested, {.seed = 9}), want);
}

TEST(Checkpoint, errors) {
  Generator rng(0);
  Dropped model(rng);
  const auto fails = [&](const TracedFunction& f) {
    EXPECT_THROW(train_step(model, f, optim::SGD({.lr = 0.1}), wide), Error);
  };
  fails([&](const Tensor& x) {
    return mean(checkpoint([](const Tensors& t) { return t[0]; }, {})[0] * x);
  });
  fails([&](const Tensor& x) {
    return mean(checkpoint([](const Tensor& a, const Tensor& b) { return a + b; }, {x})[0]);
  });
  fails([&](const Tensor& x) {
    return mean(checkpoint([&](const Tensor& a) { return a + x; }, {full({}, 1.0)})[0]);
  });
}

}  // namespace
}  // namespace cleave
