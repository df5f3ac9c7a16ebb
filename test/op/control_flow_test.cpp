// cond and while_loop in whole programs: by both engines, with sizes known later, differentiated,
// with random numbers, in place, in memory; and the passes that go into subgraphs.
#include <gtest/gtest.h>

#include "exec/executable.h"
#include "grad/grad.h"
#include "ir/edit.h"
#include "ir/specialize.h"
#include "ir/subgraph.h"
#include "test/random_inputs.h"
#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

Array flag(bool value) { return ints(DType::boolean, {}, {value}); }

const std::string sin_and_cos =
    "graph @up(%a: input f32[6], %b: input f32[6]) {\n  %s = sin(%a)\n  %r = mul(%s, %b)\n"
    "  return %r\n}\n"
    "graph @down(%a: input f32[6], %b: input f32[6]) {\n  %c = cos(%b)\n  %r = sub(%c, %a)\n"
    "  return %r\n}\n";

// x = x/2 if x is even, else 3x+1, until it is 1; n counts.
const std::string collatz =
    "graph @half(%x: input i64[]) {\n  %y = div(%x; other=2, rounding_mode=\"floor\")\n"
    "  return %y\n}\n"
    "graph @more(%x: input i64[]) {\n  %t = mul(%x; other=3)\n  %y = add(%t; other=1)\n"
    "  return %y\n}\n"
    "graph @above(%x: input i64[], %n: input i64[]) {\n  %p = gt(%x; other=1)\n  return %p\n}\n"
    "graph @next(%x: input i64[], %n: input i64[]) {\n  %m = remainder(%x; other=2)\n"
    "  %p = eq(%m; other=0)\n  %y = cond(%p, [%x]; then=@half, otherwise=@more)\n"
    "  %k = add(%n; other=1)\n  return %y, %k\n}\n"
    "graph @main(%x: input i64[]) {\n  %z = full(size=[], fill_value=0, dtype=i64)\n"
    "  %y, %n = while_loop([%x, %z]; condition=@above, body=@next)\n  return %y, %n\n}\n";

TEST(ControlFlow, a_branch_in_a_loop) {
  for (const auto& [x, steps] : {std::pair(1, 0), {6, 8}, {7, 16}, {27, 111}}) {
    const Arrays got = by_both(collatz, {{"x", ints(DType::i64, {}, {x})}}, 0);
    EXPECT_EQ(got[0].i[0], 1);
    EXPECT_EQ(got[1].i[0], steps) << x;
  }
}

TEST(ControlFlow, a_loop_in_a_branch_that_is_not_taken) {
  const std::string text =
      "graph @true(%x: input f32[2]) {\n  %p = full(size=[], fill_value=true)\n  return %p\n}\n"
      "graph @same(%x: input f32[2]) {\n  return %x\n}\n"
      "graph @forever(%x: input f32[2]) {\n"
      "  %y = while_loop([%x]; condition=@true, body=@same)\n  return %y\n}\n"
      "graph @main(%p: input bool[], %x: input f32[2]) {\n"
      "  %y = cond(%p, [%x]; then=@forever, otherwise=@same)\n  return %y\n}\n";
  const Array x = floats(DType::f32, {2}, {1, 2});
  EXPECT_EQ(by_both(text, {{"p", flag(false)}, {"x", x}}, 0)[0].f, x.f);
}

TEST(ControlFlow, sizes_that_are_known_later) {
  const Graph g = parsed(
      "graph @flip(%s0: symint range(1,64), %a: input f32[s0,3]) {\n"
      "  %r = sum(%a; dim=[0], keepdim=true)\n  %e = expand(%r; size=[s0,3])\n"
      "  %q = mul(%e, %s0)\n  return %q\n}\n"
      "graph @keep(%s0: symint, %a: input f32[s0,3]) {\n  return %a\n}\n"
      "graph @main(%s0: symint range(2,9), %p: input bool[], %x: input f32[s0,3] grad) {\n"
      "  %y = cond(%p, [%x]; then=@flip, otherwise=@keep) : f32[s0,3]\n  return %y\n}\n");
  EXPECT_TRUE(verify(g).ok());
  EXPECT_FALSE(is_static(g));
  for (const int64_t rows : {2, 5}) {
    const Array x = counting(DType::f32, {rows, 3});
    const Arrays kept = value_or_throw(interpret(g, Inputs{{"p", flag(false)}, {"x", x}}));
    EXPECT_EQ(kept[0].f, x.f);
    const Arrays flipped = value_or_throw(interpret(g, Inputs{{"p", flag(true)}, {"x", x}}));
    EXPECT_EQ(flipped[0].f[0], rows * (3.0 * rows * (rows - 1) / 2));
    const Graph fixed = value_or_throw(specialize(g, {{"s0", rows}}));
    EXPECT_TRUE(is_static(fixed));
    EXPECT_TRUE(verify(fixed).ok());
    Inputs inputs{{"p", flag(true)}, {"x", x}, {"s0", ints(DType::i64, {}, {rows})}};
    EXPECT_EQ(by_both(print(fixed), inputs, 1e-4)[0].f, flipped[0].f);
  }
  const Graph joint = value_or_throw(make_joint(g, core()));
  EXPECT_TRUE(verify(joint).ok());
  EXPECT_TRUE(verify(value_or_throw(specialize(joint, {{"s0", 4}}))).ok());
}

std::string joint_text(const std::string& text) {
  return print(value_or_throw(make_joint(parsed(text), core())));
}

TEST(ControlFlow, gradient_is_that_of_the_branch_taken) {
  const std::string call = sin_and_cos +
                           "graph @main(%p: input bool[], %a: input f32[6] grad, "
                           "%b: param f32[6] grad) {\n"
                           "  %y = cond(%p, [%a, %b]; then=@up, otherwise=@down)\n"
                           "  %z = mul(%y, %y)\n  return %z\n}\n";
  const char* const bodies[] = {"  %c = cos(%b)\n  %y = sub(%c, %a)\n",
                                "  %s = sin(%a)\n  %y = mul(%s, %b)\n"};
  for (const bool p : {false, true}) {
    Inputs inputs{{"p", flag(p)},
                  {"a", scattered(DType::f32, {6}, 1)},
                  {"b", scattered(DType::f32, {6}, 2)},
                  {"tangent.0", scattered(DType::f32, {6}, 3)}};
    const Arrays got = by_both(joint_text(call), inputs, 1e-5);
    const std::string plain = fmt::format(
        "graph @main(%p: input bool[], %a: input f32[6] grad, %b: param f32[6] grad) {{\n"
        "{}  %z = mul(%y, %y)\n  return %z\n}}\n",
        bodies[p]);
    const Arrays want = value_or_throw(by_reference(joint_text(plain), inputs));
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(mismatch(got[k], want[k], 1e-5), "");
  }
}

TEST(ControlFlow, gradient_reads_what_it_needs_alone) {
  // The gradient of a + w by both needs neither.
  const Graph g = parsed(joint_text(
      "graph @sum(%a: input f32[6], %w: input f32[6]) {\n  %r = add(%a, %w)\n  return %r\n}\n"
      "graph @first(%a: input f32[6], %w: input f32[6]) {\n  return %a\n}\n"
      "graph @main(%p: input bool[], %a: input f32[6] grad, %w: param f32[6] grad) {\n"
      "  %y = cond(%p, [%a, %w]; then=@sum, otherwise=@first)\n  return %y\n}\n"));
  const Node& backward = g.node(g.last_node());
  ASSERT_EQ(backward.op->name, "cond");
  EXPECT_EQ(backward.list_size, 1u);
  EXPECT_EQ(g.name(backward.inputs[1]), "tangent.0");
}

TEST(ControlFlow, a_loop_has_no_gradient_and_says_why) {
  const Result<Graph> joint =
      make_joint(parsed("graph @c(%n: input i64[], %x: input f32[2]) {\n  %p = lt(%n; other=3)\n"
                        "  return %p\n}\n"
                        "graph @b(%n: input i64[], %x: input f32[2]) {\n  %m = add(%n; other=1)\n"
                        "  %y = sin(%x)\n  return %m, %y\n}\n"
                        "graph @main(%n: input i64[], %x: input f32[2] grad) {\n"
                        "  %m, %y = while_loop([%n, %x]; condition=@c, body=@b)\n  return %y\n}\n"),
                 core());
  ASSERT_FALSE(joint.ok());
  EXPECT_EQ(joint.failure().kind, ErrorKind::unsupported);
  EXPECT_NE(joint.failure().message.find("while_loop: has no gradient"), std::string::npos);
  EXPECT_NE(joint.failure().message.find("src/op/while_loop.cpp"), std::string::npos);
}

TEST(ControlFlow, dropout_in_a_branch_has_one_mask) {
  const std::string joint = joint_text(
      "graph @drop(%x: input f32[64], %rng: rng_state i64[2]) {\n"
      "  %d, %m = native_dropout(%x, %rng; p=0.5, train=true, stream=4)\n  return %d\n}\n"
      "graph @keep(%x: input f32[64], %rng: rng_state i64[2]) {\n  return %x\n}\n"
      "graph @main(%p: input bool[], %x: input f32[64] grad, %rng: rng_state i64[2]) {\n"
      "  %y = cond(%p, [%x, %rng]; then=@drop, otherwise=@keep)\n  return %y\n}\n");
  Array ones(DType::f32, {64});
  for (double& x : ones.f) x = 1;
  for (const int step : {0, 1}) {
    const Arrays got = by_both(joint,
                               {{"p", flag(true)},
                                {"x", ones},
                                {"rng", ints(DType::i64, {2}, {3, step})},
                                {"tangent.0", ones}},
                               0);
    EXPECT_EQ(got[0].f, got[1].f);
    EXPECT_NE(got[0].f, ones.f);
  }
}

TEST(ControlFlow, iterations_draw_numbers_of_their_own) {
  // Row n of x is what iteration n draws.
  const std::string text =
      "graph @c(%n: input i64[], %x: input f32[4,32], %r: rng_state i64[2]) {\n"
      "  %p = lt(%n; other=4)\n  return %p\n}\n"
      "graph @b(%n: input i64[], %x: input f32[4,32], %r: rng_state i64[2]) {\n"
      "  %s = rng_fold(%r, %n; stream=0)\n  %d = rand(%s; size=[1,32], stream=1)\n"
      "  %i = view(%n; size=[1,1])\n  %e = expand(%i; size=[1,32])\n"
      "  %y = scatter(%x, %e, %d; dim=0)\n  %m = add(%n; other=1)\n  return %m, %y\n}\n"
      "graph @main(%r: rng_state i64[2]) {\n  %n = full(size=[], fill_value=0, dtype=i64)\n"
      "  %x = full(size=[4,32], fill_value=-1.0)\n"
      "  %m, %y = while_loop([%n, %x, %r]; condition=@c, body=@b)\n  return %y\n}\n";
  const Arrays got = by_both(text, {{"r", ints(DType::i64, {2}, {5, 9})}}, 1e-7);
  std::set<double> seen(got[0].f.begin(), got[0].f.end());
  EXPECT_EQ(seen.size(), 4u * 32);
  EXPECT_GE(*seen.begin(), 0);
}

TEST(ControlFlow, an_index_out_of_range_fails_where_it_runs) {
  const std::string text =
      "graph @take(%w: input f32[3,2], %i: input i64[2]) {\n  %e = embedding(%w, %i)\n"
      "  return %e\n}\n"
      "graph @rows(%w: input f32[3,2], %i: input i64[2]) {\n  %e = slice(%w; dim=0, end=2)\n"
      "  return %e\n}\n"
      "graph @main(%p: input bool[], %w: param f32[3,2], %i: input i64[2], %m: buffer f32[2,2]) {\n"
      "  %e = cond(%p, [%w, %i]; then=@take, otherwise=@rows)\n  %n = add(%m, %e)\n"
      "  return %e, %n -> %m\n}\n";
  Inputs inputs{{"p", flag(true)},
                {"w", counting(DType::f32, {3, 2})},
                {"i", ints(DType::i64, {2}, {0, 3})},
                {"m", floats(DType::f32, {2, 2}, {1, 2, 3, 4})}};
  EXPECT_NE(reference_error(text, inputs).find("index 3"), std::string::npos);
  const CompiledRun failed = by_compiled(text, inputs);
  ASSERT_FALSE(failed.status.ok());
  EXPECT_NE(failed.status.failure().message.find("index 3"), std::string::npos);
  EXPECT_EQ(failed.memory.at("m").f, inputs["m"].f);
  inputs["p"] = flag(false);
  by_both(text, inputs, 0);
}

TEST(ControlFlow, a_failing_iteration_leaves_placeholders_as_they_were) {
  // Iteration 3 reads row 3 of 3; the carried value is the buffer's next one.
  const std::string text =
      "graph @c(%n: input i64[1], %m: input f32[2], %w: input f32[3,2]) {\n"
      "  %p = lt(%n; other=5)\n  return %p\n}\n"
      "graph @b(%n: input i64[1], %m: input f32[2], %w: input f32[3,2]) {\n"
      "  %e = embedding(%w, %n)\n  %v = view(%e; size=[2])\n  %y = add(%m, %v)\n"
      "  %k = add(%n; other=1)\n  return %k, %y\n}\n"
      "graph @main(%n: input i64[1], %m: buffer f32[2], %w: param f32[3,2]) {\n"
      "  %k, %y = while_loop([%n, %m, %w]; condition=@c, body=@b)\n  return %k, %y -> %m\n}\n";
  const Inputs inputs{{"n", ints(DType::i64, {1}, {0})},
                      {"m", floats(DType::f32, {2}, {1, 2})},
                      {"w", counting(DType::f32, {3, 2})}};
  const CompiledRun failed = by_compiled(text, inputs);
  ASSERT_FALSE(failed.status.ok());
  EXPECT_NE(failed.status.failure().message.find("index 3"), std::string::npos);
  EXPECT_EQ(failed.memory.at("m").f, inputs.at("m").f);
}

// ---- memory

struct Running {
  std::shared_ptr<const CompiledProgram> program;
  std::unique_ptr<Instance> instance;

  explicit Running(const std::string& text) {
    StageOptions options;
    options.executor = make_thread_pool(2);
    program = value_or_throw(CompiledProgram::compile(parsed(text), core(), options));
    instance = value_or_throw(Instance::make(program, options.executor));
  }
  int64_t touched(std::initializer_list<HostMemory> memory) {
    size_t k = 0;
    for (const HostMemory& m : memory) value_or_throw(instance->bind(k++, m));
    instance->fill_arena_pattern();
    value_or_throw(instance->run());
    return instance->touched_arena_bytes();
  }
};

// A small branch, and one of two temporaries of 4 KB.
const std::string uneven =
    "graph @small(%x: input f32[1024]) {\n  %r = mul(%x; other=2.0)\n  return %r\n}\n"
    "graph @large(%x: input f32[1024]) {\n  %a = cumsum(%x; dim=0)\n  %b = flip(%a; dims=[0])\n"
    "  %c = cumsum(%b; dim=0)\n  %r = add(%c, %a)\n  return %r\n}\n";

std::string choice(const char* then, const char* otherwise) {
  return uneven + fmt::format(
                      "graph @main(%p: input bool[], %x: input f32[1024]) {{\n"
                      "  %y = cond(%p, [%x]; then=@{}, otherwise=@{})\n  return %y\n}}\n",
                      then, otherwise);
}

TEST(ControlFlow, planned_peak_is_that_of_the_dearer_branch) {
  Running run(choice("small", "large"));
  std::vector<float> x(1024, 0.5f);
  bool p = false;
  const int64_t peak = run.program->report().arena_bytes;
  EXPECT_EQ(run.touched({{&p, 1}, {x.data(), 4096}}), peak);
  p = true;
  EXPECT_LE(run.touched({{&p, 1}, {x.data(), 4096}}), peak);
  EXPECT_EQ(static_cast<const float*>(run.instance->result(0))[1023], 1.0f);
  // The arms of a branch share their memory.
  EXPECT_EQ(Running(choice("large", "large")).program->report().arena_bytes, peak);
}

TEST(ControlFlow, a_loop_runs_in_place) {
  Running run(
      "graph @c(%n: input i64[], %x: input f32[1024], %w: input f32[1024]) {\n"
      "  %p = lt(%n; other=10)\n  return %p\n}\n"
      "graph @b(%n: input i64[], %x: input f32[1024], %w: input f32[1024]) {\n"
      "  %h = mul(%x; other=0.5)\n  %y = add(%h, %w)\n  %m = add(%n; other=1)\n"
      "  return %m, %y\n}\n"
      "graph @main(%x: input f32[1024]) {\n  %n = full(size=[], fill_value=0, dtype=i64)\n"
      "  %w = sin(%x)\n  %m, %y = while_loop([%n, %x, %w]; condition=@c, body=@b)\n"
      "  return %y\n}\n");
  std::vector<float> x(1024, 0.5f);
  const int64_t peak = run.program->report().arena_bytes;
  // w, x's carried value and %h; n, its carried value and the flag.
  EXPECT_LE(peak, 3 * 4096 + 3 * 64);
  EXPECT_EQ(run.touched({{x.data(), 4096}}), peak);
}

TEST(ControlFlow, an_update_of_a_branch_is_written_in_place) {
  Running run(
      "graph @decay(%m: input f32[1024], %g: input f32[1024]) {\n  %h = mul(%m; other=0.5)\n"
      "  return %h\n}\n"
      "graph @keep(%m: input f32[1024], %g: input f32[1024]) {\n  return %m\n}\n"
      "graph @main(%p: input bool[], %m: buffer f32[1024], %g: input f32[1024]) {\n"
      "  %n = cond(%p, [%m, %g]; then=@decay, otherwise=@keep)\n  return %n -> %m\n}\n");
  std::vector<float> m(1024, 8.0f), g(1024, 1.0f);
  bool p = true;
  run.touched({{&p, 1}, {m.data(), 4096}, {g.data(), 4096}});
  EXPECT_EQ(m[1023], 4.0f);
  p = false;
  run.touched({{&p, 1}, {m.data(), 4096}, {g.data(), 4096}});
  EXPECT_EQ(m[1023], 4.0f);
}

// ---- passes

TEST(ControlFlow, passes_go_into_subgraphs_and_keep_them_shared) {
  Graph g = parsed(
      "graph @both(%x: input f32[3]) {\n  %a = sin(%x)\n  %b = sin(%x)\n  %c = cos(%x)\n"
      "  %r = mul(%a, %b)\n  return %r\n}\n"
      "graph @main(%p: input bool[], %x: input f32[3]) {\n"
      "  %y = cond(%p, [%x]; then=@both, otherwise=@both)\n"
      "  %z = cond(%p, [%y]; then=@both, otherwise=@both)\n  return %z\n}\n");
  EXPECT_EQ(eliminate_common_subexpressions(g), 1);
  EXPECT_EQ(eliminate_dead_code(g), 1);
  EXPECT_EQ(eliminate_dead_code(g), 0);
  EXPECT_EQ(print(g),
            "graph @both(%x: input f32[3]) {\n  %a = sin(%x) : f32[3]\n"
            "  %r = mul(%a, %a) : f32[3]\n  return %r\n}\n\n"
            "graph @main(%p: input bool[], %x: input f32[3]) {\n"
            "  %y = cond(%p, [%x]; then=@both, otherwise=@both) : f32[3]\n"
            "  %z = cond(%p, [%y]; then=@both, otherwise=@both) : f32[3]\n  return %z\n}\n");
}

TEST(ControlFlow, an_effect_in_a_branch_keeps_the_call) {
  Graph g = parsed(
      "graph @border(%x: input f32[3]) {\n  %a = opaque(%x)\n  return %a\n}\n"
      "graph @main(%p: input bool[], %x: input f32[3]) {\n"
      "  %y = cond(%p, [%x]; then=@border, otherwise=@border)\n  return %x\n}\n");
  EXPECT_EQ(eliminate_dead_code(g), 0);
  EXPECT_TRUE(has(traits_of(g.node(g.first_node())), Trait::effect));
}

TEST(ControlFlow, extracted_with_the_symbols_of_its_subgraphs) {
  const Graph g = parsed(
      "graph @keep(%s0: symint, %p: input bool[]) {\n  %r = full(size=[2], fill_value=1.0)\n"
      "  return %r\n}\n"
      "graph @main(%s0: symint, %p: input bool[], %x: input f32[s0]) {\n"
      "  %y = cond(%p, [%p]; then=@keep, otherwise=@keep)\n  return %y, %x\n}\n");
  const Graph piece =
      value_or_throw(extract_subgraph(g, "piece", {g.find("p")}, {g.find("y")}, Role::input));
  EXPECT_TRUE(piece.find("s0").valid());
  EXPECT_TRUE(verify(piece).ok());
}

}  // namespace
}  // namespace cleave::test
