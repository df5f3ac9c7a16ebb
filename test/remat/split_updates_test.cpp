// Large gradients that are made and used in pieces of rows.
// tests: split_updates.cpp
// tests: lower/lower_rows.cpp
#include "remat/split_updates.h"

#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "test/prepared.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

// A step of two numbers a row: what `graph` computes of %a and %b becomes %w's gradient.
std::string step(const std::string& calls, const std::string& results = "%n -> %w") {
  return "graph @main(%w: param f32[12,4], %a: input f32[12,5], %b: input f32[5,4], "
         "%i: input i64[7], %s: input f32[7,4], %t: param f32[12,4], "
         "%c: input f32[3,12]) {\n" +
         calls + "  return " + results + "\n}\n";
}

int split(Graph& g, int64_t least_bytes = 0, int64_t most_pieces = 4) {
  return value_or_throw(
      split_updates(g, test::core(), {.least_bytes = least_bytes, .most_pieces = most_pieces}));
}
int split(const std::string& text) {
  Graph g = test::parsed(text);
  return split(g);
}

NodeId by_rows_of(const Graph& g) {
  for (const NodeId n : g.order())
    if (g.node(n).op->name == "by_rows") return n;
  return {};
}

const std::string product = "  %g = mm(%a, %b)\n";
const std::string update = "  %l = mul(%g; other=0.5)\n  %n = sub(%w, %l)\n";

TEST(SplitUpdates, a_product_and_its_update_run_in_pieces) {
  Graph g = test::parsed(step(product + update));
  ASSERT_EQ(split(g), 1);
  value_or_throw(verify(g));
  const NodeId n = by_rows_of(g);
  ASSERT_TRUE(n.valid());
  EXPECT_EQ(g.view(n).int_attr("pieces"), 4);
  EXPECT_EQ(g.view(n).ints_attr("split"), (std::vector<int64_t>{1, 0, 1}));  // %a, %b, %w
  EXPECT_EQ(g.node_count(), 1u);
}

TEST(SplitUpdates, rows_may_be_added_by_indices_that_an_embedding_checks) {
  const std::string add = "  %g = index_add(%p, %i, %s; dim=0)\n";
  const std::string with_add = "  %p = mm(%a, %b)\n" + add + update;
  EXPECT_EQ(split(step(with_add)), 0);
  EXPECT_EQ(split(step("  %e = embedding(%t, %i)\n" + with_add, "%e, %n -> %w")), 1);
}

TEST(SplitUpdates, the_gradient_of_a_table_is_split_where_it_is_a_plain_sum) {
  const auto of_table = [](const std::string& padding, const std::string& by_freq) {
    return step(
        "  %e = embedding(%t, %i)\n  %g = embedding_dense_backward(%s, %i; num_weights=12, "
        "padding_idx=" +
            padding + ", scale_grad_by_freq=" + by_freq + ")\n" + update,
        "%e, %n -> %w");
  };
  EXPECT_EQ(split(of_table("-1", "false")), 1);
  EXPECT_EQ(split(of_table("3", "false")), 0);
  EXPECT_EQ(split(of_table("-1", "true")), 0);
}

TEST(SplitUpdates, an_embedding_checks_the_indices_that_it_reads) {
  const std::string add = "  %p = mm(%a, %b)\n  %g = index_add(%p, %i, %s; dim=0)\n" + update;
  EXPECT_EQ(
      split(step("  %v = view(%i; size=[7,1])\n  %e = embedding(%t, %v)\n" + add, "%e, %n -> %w")),
      1);
  EXPECT_EQ(split(step("  %v = slice(%i; dim=0, start=0, end=4)\n  %e = embedding(%t, %v)\n" + add,
                       "%e, %n -> %w")),
            0);
}

TEST(SplitUpdates, a_constant_of_the_whole_size_is_handed_to_the_pieces) {
  Graph g = test::parsed(step("  %f = full(; size=[12,4], fill_value=0.1)\n" + product +
                              "  %h = sub(%g, %f)\n  %n = sub(%w, %h)\n"));
  ASSERT_EQ(split(g), 1);
  value_or_throw(verify(g));
}

TEST(SplitUpdates, what_needs_the_whole_gradient_keeps_it) {
  EXPECT_EQ(split(step(product + update, "%g, %n -> %w")), 0);                          // returned
  EXPECT_EQ(split(step(product + update, "%n")), 0);                                    // no update
  EXPECT_EQ(split(step(product + "  %q = mm(%c, %g)\n" + update, "%q, %n -> %w")), 0);  // a product
  // Its norm scales it, as where gradients are clipped.
  EXPECT_EQ(
      split(step(product + "  %q = mul(%g, %g)\n  %r = sum(%q; dim=[0,1])\n  %h = mul(%g, %r)\n"
                           "  %n = sub(%w, %h)\n")),
      0);
  // Columns are not rows.
  EXPECT_EQ(split("graph @main(%w: param f32[4,12], %a: input f32[12,5], %b: input f32[5,4]) {\n"
                  "  %g = mm(%a, %b)\n  %t = permute(%g; dims=[1,0])\n  %n = sub(%w, %t)\n"
                  "  return %n -> %w\n}\n"),
            0);
}

TEST(SplitUpdates, small_gradients_and_rows_without_divisors_stay_whole) {
  Graph g = test::parsed(step(product + update));
  EXPECT_EQ(split(g, 12 * 4 * 4 + 1), 0);
  EXPECT_EQ(split("graph @main(%w: param f32[13,4], %a: input f32[13,5], %b: input f32[5,4]) {\n"
                  "  %g = mm(%a, %b)\n  %n = sub(%w, %g)\n  return %n -> %w\n}\n"),
            0);
}

// A table that is read by index and is the product's weight too, as in a language model.
struct Tied : nn::Module {
  explicit Tied(Generator& rng) : table(add_module("table", nn::Embedding(4800, 64, rng))) {}
  Tensor loss(const Tensor& index, const Tensor& target) const {
    const Tensor rows = relu(table(index));
    return cross_entropy(linear(rows, table.parameter("weight")), target);
  }
  nn::Embedding table;
};

struct Ran {
  std::vector<double> losses;
  int64_t peak = 0;
};

Ran run(const MemoryBudget& budget, InstructionSet set) {
  Generator rng(5);
  Tied model(rng);
  const auto loss = [&](const Tensor& i, const Tensor& t) { return model.loss(i, t); };
  const std::vector<InputSpec> specs = {{"i", DType::i64, {200}}, {"t", DType::i64, {200}}};
  TrainStep step = train_step(model, loss, optim::AdamW({.lr = 0.1}), specs,
                              {.compile = {.target = Target{set}, .memory_budget = budget}});
  // Many indices are equal, so their rows are summed in f64; the first and the last row are there.
  HostTensor index = rng.integers({200}, 0, 4800);
  for (int64_t k = 0; k < 140; ++k) index.data<int64_t>()[k] = 1501;
  index.data<int64_t>()[0] = 0;
  index.data<int64_t>()[199] = 4799;
  const HostTensor target = rng.integers({200}, 0, 4800);
  step.watch_memory();
  Ran out;
  for (int k = 0; k < 4; ++k) out.losses.push_back(step.run({index, target}).loss);
  out.peak = step.measured_peak_bytes();
  EXPECT_EQ(out.peak, step.report().planned_peak_bytes);
  return out;
}

TEST(SplitUpdates, a_step_within_a_budget_has_the_same_bits) {
  const InstructionSet set = Target::here().set;
  const Ran whole = run({}, set);
  const int64_t gradient = 4800 * 64 * 4, logits = 200 * 4800 * 4;
  const Ran less = run(whole.peak - gradient * 3 / 4, set);
  EXPECT_EQ(less.losses, whole.losses);
  EXPECT_LE(less.peak, whole.peak - gradient * 3 / 4);
  EXPECT_GT(whole.peak, logits + gradient);
}

}  // namespace
}  // namespace cleave
