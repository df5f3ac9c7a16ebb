// Joint graphs of forward graphs.
#include <gtest/gtest.h>

#include "exec/executable.h"
#include "grad/grad.h"
#include "ir/strides.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

std::string joint(const std::string& text) {
  return print(value_or_throw(make_joint(parsed(text), core())));
}

std::string error(const std::string& text) {
  auto g = make_joint(parsed(text), core());
  return g.ok() ? "no error" : g.failure().message;
}

// The text without types and comments, which other tests cover.
std::string bare(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (line.find(" = ") != std::string::npos)
      if (size_t colon = line.find(" : "); colon != std::string::npos) line.resize(colon);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
    at = end + 1;
  }
  return out;
}

// What may lie on the CPU beside operands of a device has its gradient there.
TEST(MakeJoint, gradients_go_home) {
  for (const std::string call :
       {"copy(%x, %s)", "mul(%x, %n)", "slice_scatter(%x, %s; dim=0, start=0, end=9)"}) {
    const auto g =
        make_joint(parsed("graph @main(%x: input f32[9,8]@cuda:0 grad, %s: input f32[9,8] "
                          "grad, %n: input f32[] grad) {\n  %c = " +
                          call + "\n  return %c\n}\n"),
                   core());
    EXPECT_TRUE(g.ok()) << call << ": " << g.failure().message;
  }
}

TEST(MakeJoint, tangents_names_and_returns) {
  EXPECT_EQ(bare(joint("graph @main(%x: input f32[3] grad, %w: input f32[3]) {\n"
                       "  %y = mul(%x, %w)\n"
                       "  %n = neg(%x)\n"
                       "  return %y, %n\n}\n")),
            "graph @main(%x: input f32[3] grad, %w: input f32[3], %tangent.0: tangent f32[3], "
            "%tangent.1: tangent f32[3]) {\n"
            "  %y = mul(%x, %w)\n"
            "  %n = neg(%x)\n"
            "  %neg = neg(%tangent.1)\n"
            "  %mul = mul(%tangent.0, %w)\n"
            "  %grad.x = add(%neg, %mul)\n"
            "  return %y, %n, %grad.x -> grad %x\n"
            "}\n");
}

TEST(MakeJoint, a_result_returned_twice_has_two_tangents) {
  EXPECT_EQ(
      bare(joint("graph @main(%x: input f32[3] grad) {\n  %y = neg(%x)\n  return %y, %y\n}\n")),
      "graph @main(%x: input f32[3] grad, %tangent.0: tangent f32[3], %tangent.1: tangent f32[3]) "
      "{\n"
      "  %y = neg(%x)\n"
      "  %grad.y = add(%tangent.0, %tangent.1)\n"
      "  %grad.x = neg(%grad.y)\n"
      "  return %y, %y, %grad.x -> grad %x\n"
      "}\n");
}

TEST(MakeJoint, only_what_leads_to_a_marked_placeholder) {
  // No gradient of %w, none through %k, no tangent for %k.
  const std::string text =
      bare(joint("graph @main(%x: input f32[3] grad, %w: input f32[3]) {\n"
                 "  %k = exp(%w)\n  %y = mul(%x, %k)\n  return %y, %k\n}\n"));
  EXPECT_EQ(text,
            "graph @main(%x: input f32[3] grad, %w: input f32[3], %tangent.0: tangent f32[3]) {\n"
            "  %k = exp(%w)\n"
            "  %y = mul(%x, %k)\n"
            "  %grad.x = mul(%tangent.0, %k)\n"
            "  return %y, %k, %grad.x -> grad %x\n"
            "}\n");
}

TEST(MakeJoint, integer_paths_are_cut) {
  const std::string text =
      bare(joint("graph @main(%x: input f32[3] grad) {\n"
                 "  %i = _to_copy(%x; dtype=i64)\n"
                 "  %f = _to_copy(%i; dtype=f32)\n"
                 "  %y = mul(%x, %f)\n  return %y, %f, %i\n}\n"));
  EXPECT_NE(text.find("%grad.x = mul(%tangent.0, %f)\n  return"), std::string::npos) << text;
  EXPECT_EQ(text.find("tangent.1"), std::string::npos) << text;
}

TEST(MakeJoint, nondifferentiable_results_carry_nothing) {
  const std::string text =
      bare(joint("graph @main(%x: input f32[2,3] grad) {\n"
                 "  %y, %mean, %rstd = native_layer_norm(%x; normalized_shape=[3], eps=1e-05)\n"
                 "  return %y, %mean, %rstd\n}\n"));
  EXPECT_NE(text.find("%tangent.0: tangent f32[2,3]) {"), std::string::npos) << text;
}

TEST(MakeJoint, list_operands) {
  const Graph g = value_or_throw(make_joint(
      parsed("graph @main(%x: input f32[2] grad, %w: input f32[3], %z: input f32[1] grad) {\n"
             "  %y = cat([%x, %w, %z, %x])\n  return %y\n}\n"),
      core()));
  auto inputs = test::random_inputs(g);
  inputs["tangent.0"].f = {1, 2, 3, 4, 5, 6, 7, 8};
  const Arrays out = value_or_throw(interpret(g, inputs));
  EXPECT_EQ(out[1].f, (std::vector<double>{1 + 7, 2 + 8}));
  EXPECT_EQ(out[2].f, (std::vector<double>{6}));
}

TEST(MakeJoint, updates_stay_and_have_no_tangent) {
  const std::string text =
      bare(joint("graph @main(%x: input f32[3] grad, %m: buffer f32[3]) {\n"
                 "  %y = neg(%x)\n  %n = add(%m, %x)\n  return %n -> %m, %y\n}\n"));
  EXPECT_NE(text.find("%m: buffer f32[3], %tangent.1: tangent f32[3]) {"), std::string::npos)
      << text;
  EXPECT_NE(text.find("return %n -> %m, %y, %grad.x -> grad %x"), std::string::npos) << text;
}

TEST(MakeJoint, zeros_where_nothing_reaches) {
  const std::string text =
      bare(joint("graph @main(%x: input f32[3] grad, %w: param f64[2,1] grad) {\n  %y = neg(%x)\n  "
                 "return %y\n}\n"));
  EXPECT_NE(text.find("%grad.w = full(size=[2,1], fill_value=0.0, dtype=f64)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("%grad.x -> grad %x, %grad.w -> grad %w"), std::string::npos) << text;
}

// Elements of row-major inputs in memory by a type's strides; what is between them is 77.
std::vector<float> memory_of(const Type& t, const std::vector<float>& elements) {
  HostTensor laid(t.dtype, static_shape(t), strides_of(t));
  std::vector<float> out(static_cast<size_t>(memory_elements(t)), 77.0f);
  HostTensor view = HostTensor::borrow(t.dtype, static_shape(t), strides_of(t), out.data());
  view.copy_from(HostTensor::from(elements, static_shape(t)));
  return out;
}

TEST(MakeJoint, a_gradient_lies_as_its_placeholder_does) {
  const char* layouts[] = {"", "{1,2}", "{6,2}", "{3,1}", "{1,5}"};
  for (const char* sx : layouts)
    for (const char* sw : layouts) {
      const Graph g = value_or_throw(
          make_joint(parsed(fmt::format(
                         "graph @main(%x: input f32[2,3]{} grad, %w: param f32[2,3]{} grad) {{\n"
                         "  %y = mul(%x, %w)\n  return %y, %x\n}}\n",
                         sx, sw)),
                     core()));
      SCOPED_TRACE(print(g));
      for (const Return& r : g.returns()) {
        if (r.kind != ReturnKind::grad) continue;
        EXPECT_EQ(strides_of(g.type(r.value)), strides_of(g.type(r.target)));
      }
      StageOptions options;
      options.compiler = CompilerChoice::none;
      const auto program = value_or_throw(CompiledProgram::compile(g, core(), options));
      const auto run = value_or_throw(Instance::make(program, nullptr));
      std::vector<std::vector<float>> memory;
      for (const Placeholder& p : g.placeholders()) {
        std::vector<float> elements;
        for (int k = 0; k < 6; ++k)
          elements.push_back(static_cast<float>(k + 10 * static_cast<int>(memory.size())));
        memory.push_back(memory_of(g.type(p.value), elements));
      }
      for (size_t i = 0; i < memory.size(); ++i) value_or_throw(run->bind(i, std::span(memory[i])));
      value_or_throw(run->run());
      for (size_t k = 0; k < g.returns().size(); ++k) {
        if (g.returns()[k].kind != ReturnKind::grad) continue;
        const bool of_x = g.returns()[k].target == g.placeholders()[0].value;
        const HostTensor grad =
            HostTensor::borrow(DType::f32, {2, 3}, strides_of(g.type(g.returns()[k].target)),
                               const_cast<void*>(run->result(k)));
        // dx = t0 w + t1, dw = t0 x, where x is 0.., w 10.., t0 20.., t1 30..
        for (int64_t e = 0; e < 6; ++e) {
          const double i = static_cast<double>(e);
          EXPECT_EQ(grad.number(e), of_x ? (20 + i) * (10 + i) + 30 + i : (20 + i) * i);
        }
      }
    }
}

TEST(MakeJoint, a_gradient_of_a_placeholder_over_itself_is_row_major) {
  for (const char* strides : {"{0,1}", "{0,0}", "{1,1}"}) {
    const Graph g =
        value_or_throw(make_joint(parsed(fmt::format("graph @main(%x: input f32[2,3]{} grad) {{\n"
                                                     "  %y = sin(%x)\n  return %y\n}}\n",
                                                     strides)),
                                  core()));
    EXPECT_TRUE(is_row_major(g.type(g.returns()[1].value))) << print(g);
  }
}

TEST(MakeJoint, the_tangent_itself_may_be_the_gradient) {
  EXPECT_EQ(bare(joint("graph @main(%x: input f32[3] grad) {\n  return %x\n}\n")),
            "graph @main(%x: input f32[3] grad, %tangent.0: tangent f32[3]) {\n"
            "  return %x, %tangent.0 -> grad %x\n"
            "}\n");
}

TEST(MakeJoint, source_lines_and_tags_are_inherited) {
  const Graph g = value_or_throw(make_joint(
      parsed("graph @main(%x: input f32[3] grad) {\n"
             "  %y = sin(%x) !recompute(must_recompute, ac=2)      # net.cpp:5\n  return %y\n}\n"),
      core()));
  ASSERT_GT(g.node_count(), 1u);
  for (NodeId n : g.order()) {
    EXPECT_EQ(g.loc_text(g.node(n).loc), "net.cpp:5") << print_node(g, n);
    EXPECT_EQ(g.node(n).tag, (CheckpointTag{Recompute::must_recompute, 2})) << print_node(g, n);
  }
}

TEST(MakeJoint, errors) {
  EXPECT_EQ(error("graph @main(%x: input i64[3]) {\n  %y = neg(%x)\n  return %y\n}\n"),
            "@main: has no differentiable result: none is floating");
  EXPECT_EQ(error("graph @main(%x: input f32[3], %t: tangent f32[3]) {\n  %y = mul(%x, %t)\n"
                  "  return %y -> grad %x\n}\n"),
            "@main: has tangents or gradients already");
}

TEST(MakeJoint, absent_rule_names_operator_and_file) {
  OpRegistry ops = core();
  OpDef wave = *ops.find("sin");
  wave.name = "wave";
  wave.grad = Absent{"its author left"};
  wave.file = "src/op/wave.cpp";
  value_or_throw(ops.add(wave));
  const Graph g = value_or_throw(parse("graph @main(%x: input f32[3] grad) {\n"
                                       "  %y = wave(%x)      # a.cpp:3\n  return %y\n}\n",
                                       "test", ops))
                      .main;
  auto made = make_joint(g, ops);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(made.failure().message.find(
                "wave: has no gradient: its author left; its rule belongs into its entry in "
                "src/op/wave.cpp\n  %y = wave(%x)"),
            0u)
      << made.failure().message;
}

TEST(AddGradients, of_a_value_inside) {
  Graph g = parsed(
      "graph @main(%x: input f32[3]) {\n  %h = sin(%x)\n  %y = mul(%h, %h)\n  return %y\n}\n");
  const ValueId one = value_or_throw(g.add_placeholder(Role::tangent, "t", Type(DType::f32, {3})));
  const Values grads =
      value_or_throw(add_gradients(g, core(), {{g.find("y")}, {one}, {g.find("h"), g.find("x")}}));
  g.set_returns({{grads[0]}, {grads[1]}});
  auto inputs = test::random_inputs(g);
  const Arrays out = value_or_throw(interpret(g, inputs));
  for (int64_t k = 0; k < 3; ++k) {
    const double x = inputs["x"].f[k], t = inputs["t"].f[k];
    EXPECT_NEAR(out[0].f[k], 2 * std::sin(x) * t, 1e-14);
    EXPECT_NEAR(out[1].f[k], 2 * std::sin(x) * t * std::cos(x), 1e-14);
  }
}

TEST(AddGradients, nothing_reaches) {
  Graph g =
      parsed("graph @main(%x: input f32[3], %w: input f32[3]) {\n  %y = sin(%x)\n  return %y\n}\n");
  const ValueId one = value_or_throw(g.add_placeholder(Role::tangent, "t", Type(DType::f32, {3})));
  const size_t nodes = g.node_count();
  EXPECT_TRUE(
      value_or_throw(add_gradients(g, core(), {{g.find("y")}, {one}, {g.find("w")}}))[0].is_none());
  EXPECT_TRUE(
      value_or_throw(add_gradients(g, core(), {{g.find("y")}, {ValueId::none()}, {g.find("x")}}))[0]
          .is_none());
  EXPECT_EQ(g.node_count(), nodes);
}

TEST(AddGradients, cotangent_of_another_type) {
  Graph g = parsed("graph @main(%x: input f32[3]) {\n  %y = sin(%x)\n  return %y\n}\n");
  const ValueId t = value_or_throw(g.add_placeholder(Role::tangent, "t", Type(DType::f32, {1})));
  auto r = add_gradients(g, core(), {{g.find("y")}, {t}, {g.find("x")}});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.failure().message, "the cotangent %t is f32[1], expected the type of %y: f32[3]");
}

// The rule computes in the dtype of self.
TEST(MakeJoint, gradients_have_the_dtypes_of_their_operands) {
  const std::string text = joint(
      "graph @main(%g: input f16[] grad, %x: input f32[2,3], %t: input i64[2], %n: input f32[]) {\n"
      "  %d = nll_loss_backward(%g, %x, %t, none, %n; reduction=1, ignore_index=-100)\n"
      "  return %d\n}\n");
  EXPECT_NE(text.find("%grad.g = _to_copy("), std::string::npos) << text;
  EXPECT_NE(text.find("; dtype=f16) : f16[]"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave
