// Calls of while_loop for the laws. Every loop is terminated by a counter %n.
#include "op/sample_sets.h"
#include "op/subgraph_rules.h"

namespace cleave {

std::vector<Sample> while_loop_samples();
std::vector<Reject> while_loop_rejects();

namespace {

using Tensors = std::vector<SampleTensor>;
using Calls = std::vector<std::string>;

SampleTensor count(int from = 0) { return i64({}).with({double(from)}); }

Sample call(Tensors operands, std::string condition, std::string body) {
  return {{std::move(operands)}, {{"condition", std::move(condition)}, {"body", std::move(body)}}};
}

// %n, and the other placeholders of `head`, while %n < times. `calls` compute the results after %n.
Sample counted(int times, Tensors operands, const std::string& head, Calls calls,
               const std::string& results) {
  const std::string all = "%n: input i64[]" + (head.empty() ? "" : ", " + head);
  operands.insert(operands.begin(), count());
  calls.emplace_back("%n_next = add(%n; other=1)");
  return call(std::move(operands),
              graph_text(all, {fmt::format("%f = lt(%n; other={})", times)}, "%f"),
              graph_text(all, calls, "%n_next" + (results.empty() ? "" : ", " + results)));
}

std::vector<Sample> of_dtypes() {
  std::vector<Sample> out;
  for (const DType t : all_dtypes) {
    const std::string head =
        fmt::format("%a: input {}[2,3], %b: input {}[3]", name_of(t), name_of(t));
    const bool number = t != DType::boolean;
    out.push_back(counted(3, {any_of(t, {2, 3}), any_of(t, {3})}, head,
                          {number ? "%r = sub(%a, %b)" : "%r = logical_xor(%a, %b)"}, "%r"));
  }
  return out;
}

std::vector<Sample> of_lengths() {
  const std::string head = "%a: input f32[4]";
  const Calls step = {"%h = mul(%a; other=0.5)", "%r = add(%h; other=1.0)"};
  const std::string both = "%n: input i64[], %a: input f32[4]";
  return {
      counted(0, {f32({4})}, head, step, "%r"),
      counted(1, {f32({4})}, head, step, "%r"),
      counted(2, {f32({4})}, head, step, "%r"),
      counted(20, {f32({4})}, head, step, "%r"),
      counted(5, {}, "", {}, ""),
      // The trip count depends on values.
      call({count(), f32({4}).range(1, 2)},
           graph_text(both,
                      {"%s = sum(%a)", "%f = lt(%s; other=100.0)", "%g = lt(%n; other=12)",
                       "%h = logical_and(%f, %g)"},
                      "%h"),
           graph_text(both, {"%m = add(%n; other=1)", "%r = mul(%a; other=2.0)"}, "%m, %r")),
      call({count(), f32({4})}, graph_text(both, {"%f = full(size=[1], fill_value=false)"}, "%f"),
           graph_text(both, {"%m = add(%n; other=1)"}, "%m, %a")),
  };
}

std::vector<Sample> of_shapes() {
  return {
      counted(3, {f32({})}, "%a: input f32[]", {"%r = sin(%a)"}, "%r"),
      counted(3, {f32({0, 3})}, "%a: input f32[0,3]", {"%r = sin(%a)"}, "%r"),
      counted(3, {f32({300, 7})}, "%a: input f32[300,7]", {"%r = tanh(%a)"}, "%r"),
      counted(3, {f32({2, 3, 4})}, "%a: input f32[2,3,4]",
              {"%p = permute(%a; dims=[2,0,1])", "%r = view(%p; size=[2,3,4])"}, "%r"),
  };
}

// Carried values that are swapped, passed through, viewed, returned twice.
std::vector<Sample> of_results() {
  const std::string two = "%a: input f32[3], %b: input f32[3]";
  const std::string square = "%a: input f32[3,3], %b: input f32[3,3]";
  return {
      counted(3, {f32({3}), f32({3})}, two, {}, "%b, %a"),
      counted(3, {f32({3}), f32({3})}, two, {"%c = add(%a, %b)"}, "%b, %c"),
      counted(3, {f32({3}), f32({3})}, two, {"%c = mul(%a; other=0.5)"}, "%c, %c"),
      counted(3, {f32({3}), f32({3})}, two, {"%c = add(%a, %b)"}, "%c, %b"),
      counted(3, {f32({3}), f32({3})}, two, {"%c = sin(%b)", "%d = add(%c, %a)"}, "%d, %c"),
      counted(3, {f32({3, 3}), f32({3, 3})}, square, {"%t = permute(%a; dims=[1,0])"}, "%b, %t"),
      counted(3, {f32({3, 3}), f32({3, 3})}, square, {"%m = mm(%a, %b)", "%d = div(%m; other=4.0)"},
              "%d"),
      counted(4, {f32({6})}, "%a: input f32[6]", {"%r = flip(%a; dims=[0])"}, "%r"),
  };
}

std::vector<Sample> of_calls() {
  const std::string drops = "%x: input f32[4,5], %rng: rng_state i64[2]";
  const std::string rows = "%x: input f32[2], %w: input f32[6,2]";
  const std::string head = "%n: input i64[], %x: input f32[3]";
  const std::string branches =
      "graph @up(%a: input f32[3]) {\n  %r = mul(%a; other=1.5)\n  return %r\n}\n"
      "graph @down(%a: input f32[3]) {\n  %r = sub(%a; other=0.5)\n  return %r\n}\n"
      "graph @g(%n: input i64[], %x: input f32[3]) {\n  %h = remainder(%n; other=2)\n"
      "  %p = eq(%h; other=0)\n  %y = cond(%p, [%x]; then=@up, otherwise=@down)\n"
      "  %m = add(%n; other=1)\n  return %m, %y\n}\n";
  const std::string loops =
      "graph @below(%k: input i64[], %a: input f32[3], %n: input i64[]) {\n"
      "  %p = lt(%k, %n)\n  return %p\n}\n"
      "graph @next(%k: input i64[], %a: input f32[3], %n: input i64[]) {\n"
      "  %r = add(%a; other=0.25)\n  %l = add(%k; other=1)\n  return %l, %r\n}\n"
      "graph @g(%n: input i64[], %x: input f32[3]) {\n"
      "  %z = full(size=[], fill_value=0, dtype=i64)\n"
      "  %k, %y = while_loop([%z, %x, %n]; condition=@below, body=@next)\n"
      "  %m = add(%n; other=1)\n  return %m, %y\n}\n";
  const std::string test = graph_text(head, {"%f = lt(%n; other=4)"}, "%f");
  return {
      counted(3, {f32({4, 5}), i64({2}).with({42, 7})}, drops,
              {"%s = rng_fold(%rng, %n; stream=1)",
               "%d, %m = native_dropout(%x, %s; p=0.25, train=true, stream=2)"},
              "%d"),
      counted(4, {f32({2}), f32({6, 2})}, rows,
              {"%i = view(%n; size=[1])", "%e = embedding(%w, %i)", "%v = view(%e; size=[2])",
               "%r = add(%x, %v)"},
              "%r"),
      call({count(), f32({3})}, test, branches),
      call({count(), f32({3})}, test, loops),
  };
}

}  // namespace

std::vector<Sample> while_loop_samples() {
  return joined({of_dtypes(), of_lengths(), of_shapes(), of_results(), of_calls()});
}

std::vector<Reject> while_loop_rejects() {
  const std::string head = "%n: input i64[], %a: input f32[3]";
  const std::string test = graph_text(head, {"%f = lt(%n; other=4)"}, "%f");
  const std::string body = graph_text(head, {"%m = add(%n; other=1)"}, "%m, %a");
  const auto reject = [](const char* rule, Tensors operands, std::string condition,
                         std::string next, const char* message) {
    return Reject{rule, call(std::move(operands), std::move(condition), std::move(next)),
                  fmt::format("while_loop: {}: {}", rule, message)};
  };
  return {
      reject("C1", {count(), f32({3})}, graph_text(head, {"%f = gt(%a; other=0.0)"}, "%f"), body,
             "condition returns bool[3], expected one bool of one element"),
      reject("C1", {count(), f32({3})}, graph_text(head, {"%f = lt(%n; other=4)"}, "%f, %f"), body,
             "condition returns bool[] and more, expected one bool of one element"),
      reject("C1", {count(), f32({3})}, graph_text(head, {}, "%n"), body,
             "condition returns i64[], expected one bool of one element"),
      reject("C2", {count()}, test, body, "condition takes 2 operands, got 1"),
      reject("C3", {count(), f32({4})}, test, body,
             "%a of condition is f32[3], its operand f32[4]"),
      reject("C4", {count(), f32({3})}, test, graph_text(head, {}, "%a, %n"),
             "result 0 of body is f32[3], expected that of its operand: i64[]"),
      reject("C4", {count(), f32({3})}, test, graph_text(head, {}, "%n, %a, %a"),
             "body returns 3 results for 2 operands"),
      reject("C4", {count(), f32({3})}, test, graph_text(head, {}, ""), "body returns nothing"),
      reject("C5", {count(), f32({3})}, test,
             graph_text("%s0: symint, " + head, {"%m = add(%n; other=1)"}, "%m, %a"),
             "body has the symint s0, which the caller doesn't have"),
      reject("C6", {count(), f32({3}), i64({2})},
             graph_text(head + ", %rng: rng_state i64[2]", {"%f = lt(%n; other=4)"}, "%f"),
             graph_text(head + ", %rng: rng_state i64[2]",
                        {"%m = add(%n; other=1)", "%s = rng_next(%rng)",
                         "%r = rand(%s; size=[3], stream=0)"},
                        "%m, %r"),
             "rand of @s.body.g draws the same numbers in each iteration, expected a state that "
             "depends on a carried value, such as rng_fold(state, counter)"),
  };
}

}  // namespace cleave
