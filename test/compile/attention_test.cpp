// Attention in a training graph: one forward and one backward call, views on both sides.
#include <gtest/gtest.h>

#include "backend/make_backend.h"
#include "compile/plan_program.h"
#include "grad/grad.h"
#include "interp/interpret.h"
#include "test/prepared.h"
#include "test/random_inputs.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

// Heads of one packed projection, attended to and merged again.
std::string text(const std::string& dtype, const std::string& call) {
  return "graph @main(%qkv: input " + dtype +
         "[2,9,48] grad, %m: input f32[9,9], %n: param f32[4,9,9] grad, %rng: rng_state i64[2]) {\n"
         "  %v = view(%qkv; size=[2,9,3,4,4])\n"
         "  %p = permute(%v; dims=[2,0,3,1,4])\n"
         "  %q = select(%p; dim=0, index=0)\n"
         "  %k = select(%p; dim=0, index=1)\n"
         "  %w = select(%p; dim=0, index=2)\n"
         "  %y = scaled_dot_product_attention(" +
         call +
         ")\n"
         "  %t = permute(%y; dims=[0,2,1,3])\n"
         "  %o = view(%t; size=[2,9,16])\n"
         "  return %o\n}\n";
}

const std::string plain = "%q, %k, %w; is_causal=true", masked = "%q, %k, %w, %m",
                  dropped = "%q, %k, %w, none, %rng; dropout_p=0.3, stream=2",
                  trained = "%q, %k, %w, %n",
                  both = "%q, %k, %w, %n, %rng; dropout_p=0.3, stream=2";

Graph joint_of(const std::string& dtype, const std::string& call) {
  return value_or_throw(make_joint(test::parsed(text(dtype, call)), test::core()));
}

PlannedProgram planned(Graph joint) {
  EXPECT_TRUE(test::prepare(joint).ok());
  const std::shared_ptr<Backend> backend = make_backend(Target::here());
  return value_or_throw(plan_program(joint, *backend));
}

TEST(AttentionProgram, OneCallForwardAndOneBackward) {
  for (const std::string& call : {plain, masked, dropped, trained, both}) {
    const PlannedProgram p = planned(joint_of("f32", call));
    std::vector<bool> backward;
    size_t products = 0;
    for (const Thunk& s : p.lowered.thunks) {
      const auto* call = std::get_if<LibraryCall>(&s.work);
      if (!call) continue;
      if (std::holds_alternative<GemmSpec>(call->spec))
        ++products;
      else
        backward.push_back(std::holds_alternative<AttentionBackwardSpec>(call->spec));
    }
    EXPECT_EQ(backward, (std::vector<bool>{false, true})) << call;
    EXPECT_EQ(products, 0u) << call;
  }
}

TEST(AttentionProgram, OperandsAreReadAsTheyLie) {
  const PlannedProgram p = planned(joint_of("f32", plain));
  ASSERT_FALSE(p.lowered.thunks.empty());
  const auto* forward = std::get_if<LibraryCall>(&p.lowered.thunks[0].work);
  ASSERT_TRUE(forward) << p.lowered.thunks[0].name;
  const auto storage = [&](size_t position) {
    return std::ranges::find(forward->operands, position, &LibraryCall::Operand::position)->storage;
  };
  for (const size_t k : {AttentionOperand::query, AttentionOperand::key, AttentionOperand::value})
    EXPECT_GE(p.lowered.storages[storage(k)].placeholder, 0);
  // The call writes the merged heads, which are the result, directly.
  EXPECT_EQ(p.lowered.returns[0], storage(AttentionOperand::out));
}

TEST(AttentionProgram, GradientsAreThoseOfTheOracle) {
  for (const std::string dtype : {"f32", "bf16", "f64"})
    for (const std::string& call : {plain, masked, dropped, trained, both}) {
      const Graph joint = joint_of(dtype, call);
      const std::map<std::string, Array> named = test::random_inputs(joint);
      Arrays inputs;
      for (const Placeholder& p : joint.placeholders())
        inputs.push_back(named.at(joint.name(p.value)));
      std::vector<const Array*> in;
      for (const Array& a : inputs) in.push_back(&a);
      const Arrays want = value_or_throw(interpret(joint, in));
      const Arrays got = value_or_throw(law::run_graph(joint, test::core(), inputs));
      ASSERT_EQ(got.size(), want.size());
      for (size_t k = 0; k < want.size(); ++k)
        EXPECT_EQ(test::mismatch(got[k], want[k], dtype == "bf16" ? 2e-2 : 2e-5), "")
            << dtype << " " << call << " " << k;
    }
}

}  // namespace
}  // namespace cleave
