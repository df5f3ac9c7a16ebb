// fused(operands; body) -> y...      y = body(operands), as one kernel
//   body   a graph with (C2) one placeholder for each operand, (C3) of its type, that (C4) returns
//          only results, at least one; (C5) its symints are the caller's of the same name
//
// Created by lower/fuse, after every stage that inspects single calls. A body that can't be one
// kernel runs as its separate calls.
#include "ir/subgraph.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/subgraph_rules.h"

namespace cleave {
namespace {

Sample call(std::vector<SampleTensor> operands, std::string body) {
  return {{std::move(operands)}, {{"body", std::move(body)}}};
}

std::vector<Sample> samples() {
  const std::string two = "%a: input f32[6,40], %b: input f32[40]";
  return {
      call({f32({6, 40}), f32({40})},
           graph_text(two, {"%s = add(%a, %b)", "%e = exp(%s)", "%r = mul(%e, %s)"}, "%r, %s")),
      call({f32({6, 40}), f32({40})},
           graph_text(two,
                      {"%m = mean(%a; dim=[1], keepdim=true)", "%c = sub(%a, %m)",
                       "%q = mul(%c, %c)", "%v = mean(%q; dim=[1], keepdim=true)", "%t = rsqrt(%v)",
                       "%y = mul(%c, %t)", "%z = mul(%y, %b)"},
                      "%z, %m, %t")),
      call({f32({70, 40}), f32({40})},
           graph_text("%a: input f32[70,40], %b: input f32[40]",
                      {"%p = mul(%a, %b)", "%m = sum(%p; dim=[1], keepdim=true)",
                       "%c = sub(%p, %m)", "%d = sum(%c; dim=[0])", "%e = sum(%p; dim=[0])"},
                      "%c, %d, %e")),
      call({f32({70, 40})},
           graph_text("%a: input f32[70,40]",
                      {"%m = amax(%a; dim=[0], keepdim=true)", "%c = sub(%a, %m)", "%e = exp(%c)",
                       "%s = sum(%e; dim=[0], keepdim=true)", "%y = div(%e, %s)"},
                      "%y")),
      call({f32({4, 3, 5})}, graph_text("%a: input f32[4,3,5]",
                                        {"%t = permute(%a; dims=[1,0,2])",
                                         "%v = view(%t; size=[12,5])", "%r = sin(%v)"},
                                        "%r")),
      // One operand in two orders, in tiles.
      call({f32({20, 41})}, graph_text("%a: input f32[20,41]",
                                       {"%b = tanh(%a)", "%t = permute(%a; dims=[1,0])",
                                        "%v = view(%t; size=[820])", "%r = sin(%v)"},
                                       "%b, %r")),
      // What a call with loops of its own reads.
      call({i64({9}).range(-4, 4), f32({3, 9})},
           graph_text("%i: input i64[9], %x: input f32[3,9]",
                      {"%z = full(size=[4,3], fill_value=1.5)", "%t = permute(%x; dims=[1,0])",
                       "%c = cos(%t)", "%y = index_put(%z, [%i], %c; accumulate=true)"},
                      "%y")),
      // A row sum that another row reads: no single kernel is possible.
      call({f32({6, 6})}, graph_text("%a: input f32[6,6]",
                                     {"%m = sum(%a; dim=[1], keepdim=true)",
                                      "%t = permute(%m; dims=[1,0])", "%y = add(%a, %t)"},
                                     "%y")),
      call({f32({2, 3}), f32({3, 2})},
           graph_text("%a: input f32[2,3], %b: input f32[3,2]", {"%y = mm(%a, %b)"}, "%y"))};
}

std::vector<Reject> rejects() {
  const std::string one = graph_text("%a: input f32[2]", {"%r = sin(%a)"}, "%r");
  return {{"C2", call({}, one), "fused: C2: body takes 1 operands, got 0"},
          {"C3", call({f32({3})}, one), "fused: C3: %a of body is f32[2], its operand f32[3]"},
          {"C4", call({f32({2})}, graph_text("%a: input f32[2]", {}, "")),
           "fused: C4: body returns nothing"}};
}

}  // namespace

CLEAVE_OPS(fused) {
  return {OpDef{
      .name = "fused",
      .signature = "(Graph body, Tensor[] operands) -> Tensor[]",
      .summary = "The calls of a graph as one kernel.",
      .source = "cleave",
      .traits = Trait::recomputable,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check_subgraph(op, "body", list_types(op)));
        return result_types(*op.graph_attr("body"));
      },
      .reference = [](const RunView& op, std::span<const Array* const> in) -> Result<Arrays> {
        return op.run(*op.graph_attr("body"), in);
      },
      .decompose = Absent{"its calls were there before they were fused"},
      .grad = Absent{"calls are fused after the gradient"},
      .lower = loop::group(),
      .cost =
          [](const OpView& op) {
            return Cost{cost_of_graph(*op.graph_attr("body")).flops, bytes_moved(op)};
          },
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
