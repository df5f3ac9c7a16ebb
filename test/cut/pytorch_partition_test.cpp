// Mode pytorch against the numbers in PyTorch's own tests (test_ac.py, test_aotdispatch.py): bytes
// saved for the backward, flops of the backward, arity of the halves.
// tests: pytorch_graph.cpp pytorch_min_cut.cpp pytorch_ops.cpp
#include "cut/pytorch_partition.h"

#include "test/cut/halves.h"

namespace cleave {
namespace {

using test::expect_halves;
using test::joint_of;

constexpr int64_t unit = 512;  // a matrix of unit x unit f32 is one MiB

Partition cut(const std::string& text, const PytorchOptions& options) {
  Graph joint = joint_of(text);
  simplify_as_pytorch(joint);
  return value_or_throw(pytorch_partition(joint, options));
}
Partition cut(const std::string& text, double budget) { return cut(text, {.budget = budget}); }

// Rounded to a tenth.
double saved_mib(const Partition& p) {
  return std::round(static_cast<double>(p.saved_activation_bytes) / (1 << 20) * 10) / 10;
}

// Flops of the backward, in products of unit x unit matrices.
double backward_products(const Partition& p) {
  int64_t flops = 0;
  for (NodeId n : p.backward.order()) flops += pytorch_flops(p.backward, n);
  return static_cast<double>(flops) / (2.0 * unit * unit * unit);
}

std::string matrix(int64_t rows, int64_t columns) {
  return fmt::format("f32[{},{}]", rows * unit, columns * unit);
}

struct Pair {
  int64_t rows, columns;  // x[rows,rows] @ w[rows,columns]
};

// sum_i sum(cos(x_i @ w_i))
std::string pairs_text(const std::vector<Pair>& pairs) {
  std::string heads, lines, total;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto [rows, columns] = pairs[i];
    heads += fmt::format("{}%x{}: input {} grad, %w{}: param {} grad", i ? ", " : "", i,
                         matrix(rows, rows), i, matrix(rows, columns));
    lines += fmt::format("  %m{0} = mm(%x{0}, %w{0})\n  %c{0} = cos(%m{0})\n", i);
    lines += fmt::format("  %s{0} = sum(%c{0}; dim=[])\n", i);
    if (i > 0) lines += fmt::format("  %t{} = add({}, %s{})\n", i, total, i);
    total = fmt::format("%{}{}", i ? "t" : "s", i);
  }
  return fmt::format("graph @main({}) {{\n{}  return {}\n}}\n", heads, lines, total);
}

TEST(PytorchPartition, A1_a_product_of_a_cosine) {
  const std::string text = fmt::format(
      "graph @main(%x: input {0} grad, %w: param {0} grad) {{\n  %c = cos(%x)\n"
      "  %m = mm(%c, %w)\n  %s = sum(%m; dim=[])\n  return %s\n}}\n",
      matrix(1, 1));
  EXPECT_EQ(saved_mib(cut(text, 1)), 1);
  EXPECT_EQ(backward_products(cut(text, 1)), 2);
  EXPECT_EQ(saved_mib(cut(text, 0.5)), 0);
  EXPECT_EQ(backward_products(cut(text, 0.5)), 2);
}

// x = cos(x); five times x = cos(x @ w); sum(x)
TEST(PytorchPartition, A2_a_chain_of_products) {
  std::string heads = "%x: input " + matrix(1, 1) + " grad", lines = "  %c0 = cos(%x)\n";
  for (int i = 1; i <= 5; ++i) {
    heads += fmt::format(", %w{}: param {} grad", i, matrix(1, 1));
    lines += fmt::format("  %m{0} = mm(%c{1}, %w{0})\n  %c{0} = cos(%m{0})\n", i, i - 1);
  }
  const std::string text =
      fmt::format("graph @main({}) {{\n{}  %s = sum(%c5; dim=[])\n  return %s\n}}\n", heads, lines);
  for (int tenths = 0; tenths <= 10; ++tenths) {
    const Partition p = cut(text, tenths / 10.0);
    const int saved = tenths <= 5 ? tenths : tenths == 10 ? 10 : 5;
    EXPECT_EQ(saved_mib(p), saved) << tenths;
    EXPECT_EQ(backward_products(p), 10 + std::max(0, 5 - saved)) << tenths;
  }
}

TEST(PytorchPartition, A3_every_sum_of_sizes_is_met) {
  std::string heads = "%x: input " + matrix(1, 1) + " grad", lines, total;
  const int64_t widths[] = {11, 3, 4, 2};
  for (int i = 0; i < 4; ++i) {
    heads += fmt::format(", %w{}: param {} grad", i, matrix(1, widths[i]));
    lines += fmt::format("  %m{0} = mm(%x, %w{0})\n  %c{0} = cos(%m{0})\n", i);
    lines += fmt::format("  %s{0} = sum(%c{0}; dim=[])\n", i);
    if (i > 0) lines += fmt::format("  %t{} = add({}, %s{})\n", i, total, i);
    total = fmt::format("%{}{}", i ? "t" : "s", i);
  }
  const std::string text =
      fmt::format("graph @main({}) {{\n{}  return {}\n}}\n", heads, lines, total);
  EXPECT_EQ(saved_mib(cut(text, 1)), 20);
  for (int mib : {18, 17, 16, 15, 14, 13, 11, 7, 6, 5})
    EXPECT_EQ(saved_mib(cut(text, mib / 20.0)), mib);
}

TEST(PytorchPartition, A6_the_cheaper_product_runs_again) {
  const std::string text = pairs_text({{1, 4}, {2, 2}});
  EXPECT_EQ(saved_mib(cut(text, 1)), 8);
  EXPECT_EQ(backward_products(cut(text, 1)), 24);
  EXPECT_EQ(saved_mib(cut(text, 0.5)), 4);
  EXPECT_EQ(backward_products(cut(text, 0.5)), 28);
}

TEST(PytorchPartition, A8_three_products) {
  const std::string text = pairs_text({{4, 4}, {6, 2}, {2, 6}});
  EXPECT_EQ(saved_mib(cut(text, 1)), 40);
  EXPECT_EQ(backward_products(cut(text, 1)), 320);
  EXPECT_EQ(saved_mib(cut(text, 28.0 / 40)), 28);
  EXPECT_EQ(backward_products(cut(text, 28.0 / 40)), 320 + 24);
  EXPECT_EQ(saved_mib(cut(text, 16.0 / 40)), 12);
  EXPECT_EQ(backward_products(cut(text, 16.0 / 40)), 320 + 88);
}

// Self-attention of x with one head, then cos(y @ w); sizes in units. PyTorch counts the flops of
// this attention operator, but not those of its CPU operator.
TEST(PytorchPartition, A9_attention_against_a_product) {
  struct Case {
    int64_t rows, columns;
    const char* again;
    double products;
  };
  for (const auto& [s, d, again, products] :
       {Case{1, 1, "m", 1}, Case{1, 3, "y", 6}, Case{2, 2, "m", 8}}) {
    const std::string text = fmt::format(
        "graph @main(%x: input {0} grad, %w: param {1} grad) {{\n"
        "  %q = reshape(%x; shape=[1,1,{2},{3}])\n"
        "  %y, %lse, %seed, %offset = _scaled_dot_product_efficient_attention(%q, %q, %q, none; "
        "compute_log_sumexp=true)\n"
        "  %z = reshape(%y; shape=[{2},{3}])\n  %m = mm(%z, %w)\n  %c = cos(%m)\n"
        "  %s = sum(%c; dim=[])\n  return %s\n}}\n",
        matrix(s, d), matrix(d, d), s * unit, d * unit);
    const Partition whole = cut(text, 1), part = cut(text, 0.6);
    EXPECT_EQ(saved_mib(whole), static_cast<double>(2 * s * d));
    EXPECT_EQ(saved_mib(part), static_cast<double>(s * d));
    EXPECT_EQ(backward_products(part) - backward_products(whole), products) << s << "," << d;
    EXPECT_TRUE(std::any_of(part.recomputed.begin(), part.recomputed.end(), [&](const auto& r) {
      return r.name == again && r.flops > 0;
    })) << again;
  }
}

// f(f(x)), f(x) = ((x x') (x x')) ((x x') (x x')) x, each f under its own checkpoint: the value
// between the two is saved, and a budget changes nothing.
TEST(PytorchPartition, A10_tags_win_over_a_budget) {
  std::string lines, x = "%x";
  for (int k = 1; k <= 2; ++k) {
    lines += fmt::format(
        "  %p{0} = permute({1}; dims=[1,0]) {2}\n  %a{0} = mm({1}, %p{0}) {2}\n"
        "  %b{0} = mm(%a{0}, %a{0}) {2}\n  %c{0} = mm(%b{0}, %b{0}) {2}\n"
        "  %y{0} = mm(%c{0}, {1}) {2}\n",
        k, x, fmt::format("!recompute(must_recompute, ac={})", k));
    x = fmt::format("%y{}", k);
  }
  const std::string text = fmt::format(
      "graph @main(%x: input f32[64,1024] grad) {{\n{}  %s = sum(%y2; dim=[])\n  return %s\n}}\n",
      lines);
  for (const double budget : {1.0, 0.01}) {
    const Partition p = cut(text, budget);
    EXPECT_EQ(p.saved_activation_bytes, 64 * 1024 * 4);  // y1
    EXPECT_EQ(test::count(p.forward, "mm"), 8);
    EXPECT_EQ(test::count(p.backward, "mm"), 2 * (8 + 3));  // gradients, and a, b, c again
  }
}

// cat[expand(a, (b0 + c0, a0)), b, c]
TEST(PytorchPartition, T3_all_that_is_saved_are_sizes) {
  const Partition p =
      cut("graph @main(%a0: symint, %b0: symint, %c0: symint, %a: input f32[a0] grad, "
          "%b: input f32[b0,a0] grad, %c: input f32[c0,a0] grad) {\n"
          "  %e = expand(%a; size=[b0+c0,a0])\n  %r = cat([%e, %b, %c]; dim=0)\n  return %r\n}\n",
          1);
  EXPECT_EQ(p.forward_arity, (Arity{3, 4}));
  EXPECT_EQ(p.backward_arity, (Arity{4, 3}));
  EXPECT_EQ(p.saved_bytes, 3 * 8);
}

TEST(PytorchPartition, T6_a_chain_of_cosines) {
  const Partition p =
      cut("graph @main(%x: input f32[3] grad) {\n  %a = cos(%x)\n  %b = cos(%a)\n  %c = cos(%b)\n"
          "  return %c\n}\n",
          1);
  EXPECT_EQ(p.forward_arity, (Arity{1, 2}));
  EXPECT_EQ(p.backward_arity, (Arity{2, 1}));
}

TEST(PytorchPartition, T7_a_sum_of_four) {
  const Partition p =
      cut("graph @main(%a: input f32[3] grad, %b: input f32[3] grad, %c: input f32[3] grad, "
          "%d: input f32[3] grad) {\n  %ab = add(%a, %b)\n  %abc = add(%ab, %c)\n"
          "  %e = add(%abc, %d)\n  %f = cos(%e)\n  %g = cos(%f)\n  return %g\n}\n",
          1);
  EXPECT_EQ(p.forward_arity, (Arity{4, 2}));
  EXPECT_EQ(p.backward_arity, (Arity{2, 4}));
}

TEST(PytorchPartition, T2_sizes_are_saved_in_place_of_a_tensor) {
  const Partition p =
      cut("graph @main(%s0: symint, %s1: symint, %x: input f32[s0,s1] grad) {\n"
          "  %y = sum(%x; dim=[1])\n  return %y\n}\n",
          1);
  EXPECT_EQ(p.forward_arity, (Arity{1, 3}));
  EXPECT_EQ(p.backward_arity, (Arity{3, 1}));
}

// checkpoint(sigmoid(sin(x) @ y))
TEST(PytorchPartition, tagged_calls_run_again) {
  const Partition p =
      cut("graph @main(%x: input f32[4,4] grad, %y: input f32[4,4] grad) {\n"
          "  %s = sin(%x)\n  %m = mm(%s, %y) !recompute(must_recompute, ac=1)\n"
          "  %r = sigmoid(%m) !recompute(must_recompute, ac=1)\n  return %r\n}\n",
          1);
  EXPECT_EQ(test::count(p.forward, "mm"), 1);
  EXPECT_EQ(test::count(p.backward, "mm"), 3);
}

// What PyTorch 2.13 saves of sum(cos(cos(x @ w))), with each tag at the product: must_save is
// ignored at budget 0, prefer_save always.
TEST(PytorchPartition, tags_are_read_as_pytorch_reads_them) {
  using Names = std::vector<std::string>;
  const Names whole{"m", "permute", "permute_1"}, inputs{"x", "w"};
  const struct {
    const char* tag;
    Names at_1, at_half, at_0;
  } cases[] = {{"", whole, inputs, inputs},
               {"!recompute(must_save)", whole, {"x", "w", "m"}, inputs},
               {"!recompute(prefer_save)", whole, inputs, inputs},
               {"!recompute(prefer_recompute, ac=1)", inputs, inputs, inputs},
               {"!recompute(must_recompute, ac=1)", inputs, inputs, inputs}};
  for (const auto& c : cases) {
    const std::string text = fmt::format(
        "graph @main(%x: input f32[64,64] grad, %w: input f32[64,64] grad) {{\n"
        "  %m = mm(%x, %w) {}\n  %a = cos(%m)\n  %b = cos(%a)\n  %s = sum(%b; dim=[])\n"
        "  return %s\n}}\n",
        c.tag);
    EXPECT_EQ(test::saved_names(cut(text, 1)), c.at_1) << c.tag;
    EXPECT_EQ(test::saved_names(cut(text, 0.5)), c.at_half) << c.tag;
    EXPECT_EQ(test::saved_names(cut(text, 0)), c.at_0) << c.tag;
  }
}

// Each ban, on a graph in which only this ban keeps a value from being recomputed.
TEST(PytorchPartition, each_ban_can_be_turned_off) {
  const auto graph_of = [](const std::string& body) {
    return "graph @main(%x: input f32[64,64] grad, %w: param f32[64,64] grad) {\n" + body + "}\n";
  };
  std::string chain = "  %c0 = cos(%x)\n";
  for (int k = 1; k <= 150; ++k) chain += fmt::format("  %c{} = sin(%c{})\n", k, k - 1);
  const struct {
    const char* name;
    bool PytorchBans::* ban;
    std::string body;
  } cases[] = {
      {"reductions", &PytorchBans::reductions,
       "  %s = sum(%x; dim=[1], keepdim=true)\n  %e = exp(%s)\n  %y = mul(%x, %e)\n  return %y\n"},
      {"materialized_backward", &PytorchBans::materialized_backward,
       "  %c = cos(%x)\n  %m = mm(%c, %w)\n  return %m\n"},
      {"not_in_allowlist", &PytorchBans::not_in_allowlist,
       "  %a = cumsum(%x; dim=0)\n  %b = cumsum(%x; dim=1)\n  %c = exp(%a)\n  %d = exp(%b)\n"
       "  %y = add(%c, %d)\n  return %y\n"},
      {"used_far_apart", &PytorchBans::used_far_apart,
       "  %a = cos(%x)\n  %b = sin(%a)\n  %m = mm(%b, %w)\n  %c = cos(%m)\n  %d = mul(%a, %c)\n"
       "  %e = sin(%d)\n  return %e\n"},
      {"long_fusible_chains", &PytorchBans::long_fusible_chains, chain + "  return %c150\n"},
  };
  for (const auto& c : cases) {
    PytorchOptions on, off;
    off.bans.*c.ban = false;
    const std::string text = graph_of(c.body);
    EXPECT_NE(test::saved_names(cut(text, on)), test::saved_names(cut(text, off))) << c.name;
  }
}

// No ban is about lift_fresh_copy; a clone in its place is in memory for the product there.
TEST(PytorchPartition, lift_fresh_copy_is_banned_by_no_rule) {
  const auto saved = [](const char* op) {
    return test::saved_names(cut(
        fmt::format(
            "graph @main(%k: input i8[64,64], %w: param f32[64,64] grad) {{\n"
            "  %a = _to_copy(%k; dtype=f32)\n  %c = {}(%a)\n  %m = mm(%c, %w)\n  return %m\n}}\n",
            op),
        {.bans = {.not_in_allowlist = true}}));
  };
  EXPECT_EQ(saved("clone"), (std::vector<std::string>{"permute"}));
  EXPECT_EQ(saved("lift_fresh_copy"), (std::vector<std::string>{"k"}));
}

// sin(x)'s gradient reads x, so the shifted integers and softplus run again rather than be saved.
TEST(PytorchPartition, shifts_and_softplus_run_again) {
  for (const char* call : {"__rshift__(%i; other=1)", "__rshift__(%i, %i)"}) {
    const Partition p =
        cut(fmt::format("graph @main(%x: input f32[64] grad, %i: input i8[64]) {{\n  %s = {}\n"
                        "  %c = _to_copy(%s; dtype=f32)\n  %y = mul(%x, %c)\n  return %y\n}}\n",
                        call),
            1);
    EXPECT_EQ(test::saved_names(p), (std::vector<std::string>{"i"})) << call;
  }
  const Partition p =
      cut("graph @main(%x: input f32[64] grad) {\n  %s = softplus(%x)\n  %y = sin(%s)\n"
          "  return %y\n}\n",
          1);
  EXPECT_EQ(test::saved_names(p), (std::vector<std::string>{"x"}));
}

// The size of a tensor is saved and not the tensor; what is made of sizes runs again.
TEST(PytorchPartition, sizes_are_symbols_of_one_byte) {
  Graph joint = joint_of(
      "graph @main(%x: input f32[64] grad, %y: input f32[64] grad) {\n"
      "  %n = sym_size(%y; dim=0)\n  %f = _to_copy(%n; dtype=f64)\n  %r = sqrt(%f)\n"
      "  %b = gt(%n; other=3)\n  %z = mul(%x, %r)\n  return %z\n}\n");
  simplify_as_pytorch(joint);
  const JointView view = value_or_throw(JointView::make(joint));
  const PytorchGraph graph(view);
  using Symbol = PytorchNode::Symbol;
  const auto symbol = [&](const char* name) {
    for (const PytorchNode& n : graph.nodes())
      if (n.value.valid() && joint.name(n.value) == name) return std::pair(n.symbol, n.bytes);
    return std::pair(Symbol::none, int64_t{-1});
  };
  EXPECT_EQ(symbol("n"), std::pair(Symbol::integer, int64_t{1}));
  EXPECT_EQ(symbol("r"), std::pair(Symbol::floating, int64_t{1}));
  EXPECT_EQ(symbol("z"), std::pair(Symbol::none, int64_t{256}));
  const PytorchCut made = value_or_throw(pytorch_min_cut(graph, {}));
  for (const PytorchCut::Ban& ban : made.banned)
    EXPECT_NE(graph.node(ban.node).symbol, Symbol::floating);
  EXPECT_EQ(test::saved_names(value_or_throw(pytorch_partition(joint, {}))),
            (std::vector<std::string>{"n"}));
}

// A constant is there in both halves: it counts nothing, and what is made of it alone runs again.
TEST(PytorchPartition, constants_are_free) {
  const auto text = [](const char* role) {
    return fmt::format(
        "graph @main(%x: input f32[64] grad, %k: {} f32[64,64]) {{\n"
        "  %s = sum(%k; dim=[0])\n  %e = exp(%s)\n  %y = mul(%x, %e)\n  return %y\n}}\n",
        role);
  };
  EXPECT_EQ(test::saved_names(cut(text("const"), 1)), (std::vector<std::string>{"k"}));
  EXPECT_EQ(test::saved_names(cut(text("input"), 1)), (std::vector<std::string>{"e"}));
}

// The first tag decides for the whole graph, whatever --budget says.
TEST(PytorchPartition, a_tag_memory_budget_is_the_budget) {
  const auto text = [](const char* first, const char* second) {
    return fmt::format(
        "graph @main(%x: input f32[64,64] grad, %w: input f32[64,64] grad) {{\n"
        "  %m = mm(%x, %w)\n  %a = cos(%m) {}\n  %b = cos(%a) {}\n  %s = sum(%b; dim=[])\n"
        "  return %s\n}}\n",
        first, second);
  };
  const auto saved = [&](const char* first, const char* second, double budget) {
    return test::saved_names(cut(text(first, second), budget));
  };
  EXPECT_NE(saved("", "", 1), saved("", "", 0.25));
  const char *low = "!recompute(unset, memory_budget=0.25)",
             *high = "!recompute(unset, memory_budget=1.0)";
  EXPECT_EQ(saved("", low, 1), saved("", "", 0.25));
  EXPECT_EQ(saved(low, high, 1), saved("", "", 0.25));
  EXPECT_EQ(saved(high, low, 0.25), saved("", "", 1));
}

// Two fifths of the range are a hair more than 0.4 in PyTorch's floats.
TEST(PytorchPartition, what_fits_just_so_is_decided_in_pytorch_s_floats) {
  const std::vector<KnapsackItem> items{{32, 1}, {32, 1}};
  const KnapsackFloats floats{.range = 896 / 1e9 - 736 / 1e9, .budget = 0.4};
  const auto kept = [&](const std::optional<KnapsackFloats>& f) {
    return value_or_throw(solve_knapsack(items, 64, 160, KnapsackSolver::greedy, f)).kept;
  };
  EXPECT_EQ(kept({}), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(kept(floats), (std::vector<size_t>{0}));
  // Beside 2^24 a value of 1 is lost in f32.
  const std::vector<KnapsackItem> lost{{32, 1 << 24}, {32, 1}};
  EXPECT_EQ(value_or_throw(solve_knapsack(lost, 100, 100, KnapsackSolver::dp,
                                          KnapsackFloats{.range = 100 / 1e9, .budget = 1}))
                .kept,
            (std::vector<size_t>{0}));
}

// A training step: no tangents, and an optimizer.
TEST(PytorchPartition, in_a_step_calls_are_copied_in_front_of_their_readers) {
  const auto step = [](double budget) {
    Graph g = test::parsed(
        "graph @step(%w: param f32[64,64], %x: input f32[64,64], %lr: input f32[]) {\n"
        "  %m = mm(%x, %w)\n  %c = cos(%m)\n  %e = exp(%c)\n  %l = sum(%e)\n"
        "  %s = sin(%m)\n  %n = neg(%s)\n  %d = mul(%e, %n)\n"
        "  %t = permute(%x; dims=[1,0])\n  %g = mm(%t, %d)\n  %u = mul(%g, %lr)\n"
        "  %w2 = sub(%w, %u)\n  return %l, %w2 -> %w\n}\n");
    const int64_t repeated = value_or_throw(repeat_as_pytorch(g, 1, {.budget = budget}));
    const Status ok = verify(g);
    EXPECT_TRUE(ok.ok()) << ok.failure().message;
    return std::tuple(repeated, test::count(g, "cos"), test::count(g, "mm"));
  };
  EXPECT_EQ(step(1), (std::tuple<int64_t, int64_t, int64_t>{2, 2, 2}));  // cos and exp of m
  EXPECT_EQ(step(0), (std::tuple<int64_t, int64_t, int64_t>{3, 2, 3}));  // and m
}

// Values that each of the next three is made from, so that there are 1.8^layers ways through them.
std::string many_ways(int layers) {
  std::string lines;
  const int values = layers + 4;
  for (int i = 0; i < values; ++i)
    lines += fmt::format("  %a{0} = add(%x; other={0})\n  %t{0}_0 = add(%x, %a{0})\n", i);
  std::vector<int> version(static_cast<size_t>(values));
  const auto name = [&](int i) {
    return fmt::format("%t{}_{}", i, version[static_cast<size_t>(i)]);
  };
  const auto next = [&](int i) {
    ++version[static_cast<size_t>(i)];
    return name(i);
  };
  for (int i = 0; i < layers; ++i) {
    lines += fmt::format("  %s{} = sin({})\n", i, name(i));
    const std::string before = name(i);
    lines += fmt::format("  {} = mul(%s{}, {})\n", next(i), i, before);
    for (int k = 1; k <= 3; ++k) {
      const std::string old = name(i + k);
      lines += fmt::format("  {} = sub({}, {})\n", next(i + k), old, name(i));
    }
  }
  std::string total = name(0);
  for (int i = 1; i < values; ++i) {
    lines += fmt::format("  %u{} = add({}, {})\n", i, total, name(i));
    total = fmt::format("%u{}", i);
  }
  return fmt::format("graph @main(%x: input f32[4,4] grad) {{\n{}  return {}\n}}\n", lines, total);
}

// By counted work: each search looks at a node once, whatever the number of ways to it. From few
// layers on, so that a search of all ways fails before it takes forever.
TEST(PytorchPartition, must_finish) {
  for (int layers = 2; layers <= 28; layers += 2) {
    Graph joint = joint_of(many_ways(layers));
    simplify_as_pytorch(joint);
    const JointView view = value_or_throw(JointView::make(joint));
    const PytorchGraph graph(view);
    const PytorchCut made = value_or_throw(pytorch_min_cut(graph, {}));
    EXPECT_GT(made.looks, graph.size());
    ASSERT_LE(made.looks, 12 * graph.size()) << layers << " layers";
  }
  EXPECT_GT(cut(many_ways(28), 1).saved.size(), 0u);
}

// A random call that nothing reads changes the generator's state, so that PyTorch keeps it, and
// what it reads is in memory for it: saving that costs half as much.
TEST(PytorchPartition, random_calls_that_nothing_reads_stay) {
  const auto cut_of = [](const char* unread) {
    Graph joint = parsed(fmt::format(
        "graph @main(%x: input f32[6,6] grad, %w: param f32[6,6], %s: rng_state i64[2], "
        "%t: tangent f32[6,6]) {{\n"
        "  %m = mm(%x, %w)\n  %a = neg(%m)\n  %b = neg(%a)\n  %c = neg(%b)\n  %d = neg(%c)\n"
        "  %r = relu(%d)\n{}  %y = sin(%r)\n"
        "  %z = cos(%r)\n  %g = mul(%t, %z)\n  %v = permute(%w; dims=[1,0])\n"
        "  %dx = mm(%g, %v)\n  return %y, %dx -> grad %x\n}}\n",
        unread));
    simplify_as_pytorch(joint);
    const Partition p = value_or_throw(pytorch_partition(joint, {}));
    expect_halves(joint, p);
    return test::saved_names(p);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(cut_of(""), (Names{"w", "m"}));
  EXPECT_EQ(cut_of("  %q = _softmax(%r; dim=1, half_to_float=false)\n"), (Names{"w", "m"}));
  EXPECT_EQ(cut_of("  %q = _softmax(%r; dim=1, half_to_float=false)\n"
                   "  %n, %k = native_dropout(%q, %s; p=0.5, train=true, stream=0)\n"),
            (Names{"w", "r"}));
}

// The halves compute what the joint graph computes, bit for bit, at every budget and with every
// solver.
TEST(PytorchPartition, halves_at_every_budget) {
  Graph joint = joint_of(
      "graph @main(%x: input f32[6,5] grad, %w: param f32[5,5] grad, %v: param f32[5,4] grad) {\n"
      "  %h = mm(%x, %w)\n  %g = gelu(%h)\n  %n, %mean, %rstd = native_layer_norm(%g, none, none; "
      "normalized_shape=[5], eps=1e-5)\n  %m = mm(%n, %v)\n  %p = _log_softmax(%m; dim=1, "
      "half_to_float=false)\n  %s = sum(%p; dim=[])\n  return %s, %m\n}\n");
  simplify_as_pytorch(joint);
  int64_t before = -1;
  for (KnapsackSolver solver : {KnapsackSolver::dp, KnapsackSolver::greedy, KnapsackSolver::ilp})
    for (double budget : {1.0, 0.75, 0.5, 0.25, 0.0}) {
      const Partition p =
          value_or_throw(pytorch_partition(joint, {.budget = budget, .solver = solver}));
      expect_halves(joint, p);
      if (budget == 1.0) before = p.saved_activation_bytes;
      EXPECT_LE(p.saved_activation_bytes, before);
      if (budget == 0.0) { EXPECT_EQ(p.saved_activation_bytes, 0); }
    }
}

// Python's hashes of -1 and -2 are equal: PyTorch keeps the first such call and merges no other.
TEST(PytorchPartition, equal_calls_with_minus_one_and_minus_two) {
  const auto unsqueezes = [](std::initializer_list<int> dims) {
    std::string text = "graph @main(%x: input f32[3] grad) {\n  %x0 = cos(%x)\n";
    int k = 0;
    for (const int dim : dims) {
      text += fmt::format("  %u{} = unsqueeze(%x0; dim={})\n  %v{} = view(%u{}; size=[3])\n", k,
                          dim, k, k);
      text += fmt::format("  %x{} = mul(%x{}, %v{})\n", k + 100, k == 0 ? 0 : k + 99, k);
      ++k;
    }
    Graph joint = joint_of(text + fmt::format("  return %x{}\n}}\n", k + 99));
    simplify_as_pytorch(joint);
    int count = 0;
    for (NodeId n : joint.order()) count += joint.node(n).op->name == "unsqueeze";
    return count;
  };
  EXPECT_EQ(unsqueezes({0, 0, 1, 1}), 2);
  EXPECT_EQ(unsqueezes({-1, -1, -1}), 1);
  EXPECT_EQ(unsqueezes({-2, -1, -1}), 3);
  EXPECT_EQ(unsqueezes({-1, -2, -1, -2}), 3);
}

// There may be no dim of heads, or several.
TEST(PytorchPartition, flops_of_attention_of_any_rank) {
  for (const char* heads : {"", "6,", "2,3,", "1,2,3,"}) {
    const std::string text = fmt::format(
        "graph @main(%q: input f32[{0}5,7], %k: input f32[{0}11,7], %v: input f32[{0}11,2]) {{\n"
        "  %y = scaled_dot_product_attention(%q, %k, %v)\n  return %y\n}}\n",
        heads);
    const Graph g = test::parsed(text);
    const int64_t count = *heads == 0 ? 1 : 6;
    EXPECT_EQ(pytorch_flops(g, g.first_node()), count * 2 * 5 * 11 * (7 + 2)) << text;
  }
}

TEST(PytorchPartition, errors) {
  const Graph joint =
      joint_of("graph @main(%x: input f32[3] grad) {\n  %a = cos(%x)\n  return %a\n}\n");
  const auto message = [&](const PytorchOptions& o) {
    const auto p = pytorch_partition(joint, o);
    return p.ok() ? "" : p.failure().message;
  };
  EXPECT_EQ(message({.budget = 1.5}),
            "--budget 1.5: in mode pytorch it is a part of the saved bytes, expected 0 to 1");
  EXPECT_EQ(message({.budget = -0.5}),
            "--budget -0.5: in mode pytorch it is a part of the saved bytes, expected 0 to 1");
}

}  // namespace
}  // namespace cleave
