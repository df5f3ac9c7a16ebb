// Calls of cond for the laws: each with pred true and false.
#include "op/sample_sets.h"
#include "op/subgraph_rules.h"

namespace cleave {

std::vector<Sample> cond_samples();
std::vector<Reject> cond_rejects();

namespace {

using Tensors = std::vector<SampleTensor>;
using Calls = std::vector<std::string>;

SampleTensor flag(bool value, std::vector<int64_t> shape = {}) {
  return boolean(std::move(shape)).with({value ? 1.0 : 0.0});
}

Sample call(SampleTensor pred, Tensors operands, std::string then, std::string otherwise) {
  return {{std::move(pred), std::move(operands)},
          {{"then", std::move(then)}, {"otherwise", std::move(otherwise)}}};
}

// The same call with both values of pred.
std::vector<Sample> both(const Tensors& operands, const std::string& then,
                         const std::string& otherwise) {
  return {call(flag(true), operands, then, otherwise),
          call(flag(false), operands, then, otherwise)};
}

std::vector<Sample> of_dtypes() {
  std::vector<Sample> out;
  for (const DType t : all_dtypes) {
    const bool number = t != DType::boolean;
    const std::string head =
        fmt::format("%a: input {}[2,3], %b: input {}[3]", name_of(t), name_of(t));
    const std::vector<Sample> calls = both(
        {any_of(t, {2, 3}), any_of(t, {3})},
        graph_text(head, {number ? "%r = mul(%a, %b)" : "%r = logical_and(%a, %b)"}, "%r"),
        graph_text(head, {number ? "%r = add(%a, %b; alpha=2)" : "%r = logical_or(%a, %b)"}, "%r"));
    out.insert(out.end(), calls.begin(), calls.end());
  }
  return out;
}

std::vector<Sample> of_shapes() {
  const std::string one = "%a: input f32[1]";
  const std::string empty = "%a: input f32[0,3]", scalar = "%a: input f32[]";
  return {
      call(flag(true, {1}), {f32({1})}, graph_text(one, {"%r = sin(%a)"}, "%r"),
           graph_text(one, {"%r = cos(%a)"}, "%r")),
      call(flag(false, {1, 1}), {f32({1})}, graph_text(one, {"%r = sin(%a)"}, "%r"),
           graph_text(one, {"%r = cos(%a)"}, "%r")),
      call(flag(true), {f32({0, 3})}, graph_text(empty, {"%r = sin(%a)"}, "%r"),
           graph_text(empty, {"%r = cos(%a)"}, "%r")),
      call(flag(false), {f32({})}, graph_text(scalar, {"%r = sin(%a)"}, "%r"),
           graph_text(scalar, {"%r = exp(%a)"}, "%r")),
      call(flag(true), {}, graph_text("", {"%r = full(size=[3], fill_value=1.5)"}, "%r"),
           graph_text("", {"%r = full(size=[3], fill_value=2.5)"}, "%r")),
  };
}

// Kinds of branch results: operands, one value twice, views, several values.
std::vector<Sample> of_results() {
  const std::string two = "%a: input f32[2,3], %b: input f32[2,3]";
  const std::string wide = "%a: input f32[3,4]";
  return joined({
      both({f32({2, 3}), f32({2, 3})}, graph_text(two, {}, "%a, %b"),
           graph_text(two, {}, "%b, %a")),
      both({f32({2, 3}), f32({2, 3})}, graph_text(two, {"%r = tanh(%a)"}, "%r, %r"),
           graph_text(two,
                      {"%r = mul(%a, %b)", "%s = sum(%r; dim=[1], keepdim=true)",
                       "%t = expand(%s; size=[2,3])"},
                      "%t, %r")),
      both({f32({3, 4})}, graph_text(wide, {"%r = permute(%a; dims=[1,0])"}, "%r"),
           graph_text(wide,
                      {"%e = exp(%a)", "%v = view(%e; size=[2,6])", "%r = view(%v; size=[4,3])"},
                      "%r")),
      both({f32({2, 3}), f32({2, 3})}, graph_text(two, {"%r = amax(%a; dim=[1])"}, "%r"),
           graph_text(two, {"%r = select(%b; dim=1, index=1)"}, "%r")),
  });
}

std::vector<Sample> of_calls() {
  const std::string product = "%x: input f32[5,3], %w: input f32[3,4], %b: input f32[4]";
  const std::string rows = "%w: input f32[6,2], %i: input i64[4]";
  const std::string drops = "%x: input f32[4,5], %rng: rng_state i64[2]";
  const std::string inner = graph_text("%a: input f32[3]", {"%r = sin(%a)"}, "%r");
  const std::string nested =
      "graph @up(%a: input f32[3]) {\n  %r = exp(%a)\n  return %r\n}\n"
      "graph @down(%a: input f32[3]) {\n  %r = neg(%a)\n  return %r\n}\n"
      "graph @g(%a: input f32[3]) {\n  %s = sum(%a)\n  %p = gt(%s; other=0.0)\n"
      "  %q = cond(%p, [%a]; then=@up, otherwise=@down)\n  %r = mul(%q, %a)\n  return %r\n}\n";
  const std::string sized = "%s0: symint, %a: input f32[s0]";
  SampleTensor rows_of_s0 = f32({1});
  rows_of_s0.type.shape = {Dim::symbol("s0")};
  return joined({
      both({f32({5, 3}), f32({3, 4}), f32({4})},
           graph_text(product, {"%r = addmm(%b, %x, %w)"}, "%r"),
           graph_text(product, {"%y = mm(%x, %w)", "%r = _softmax(%y; dim=1, half_to_float=false)"},
                      "%r")),
      both({f32({6, 2}), i64({4}).range(0, 6)}, graph_text(rows, {"%r = embedding(%w, %i)"}, "%r"),
           graph_text(rows, {"%z = full(size=[4,2], fill_value=0.25)"}, "%z")),
      both({f32({4, 5}), i64({2}).with({42, 7})},
           graph_text(drops,
                      {"%d, %m = native_dropout(%x, %rng; p=0.5, train=true, stream=3)",
                       "%r = mul(%d, %x)"},
                      "%r, %m"),
           graph_text(drops, {"%r = mul(%x; other=0.5)", "%m = gt(%r; other=0.0)"}, "%r, %m")),
      both({f32({3})}, nested, inner),
      both({rows_of_s0}, graph_text(sized, {"%r = sin(%a)"}, "%r"), graph_text(sized, {}, "%a")),
      // An index out of range in the branch that isn't taken is no error.
      {call(flag(false), {f32({6, 2}), i64({4}).with({6})},
            graph_text(rows, {"%r = embedding(%w, %i)"}, "%r"),
            graph_text(rows, {"%r = slice(%w; dim=0, end=4)"}, "%r"))},
  });
}

}  // namespace

std::vector<Sample> cond_samples() {
  return joined({of_dtypes(), of_shapes(), of_results(), of_calls()});
}

std::vector<Reject> cond_rejects() {
  const std::string head = "%a: input f32[3]";
  const std::string plain = graph_text(head, {"%r = sin(%a)"}, "%r");
  const auto reject = [&](const char* rule, SampleTensor pred, Tensors operands, std::string then,
                          std::string otherwise, std::string message) {
    return Reject{rule,
                  call(std::move(pred), std::move(operands), std::move(then), std::move(otherwise)),
                  "cond: " + message};
  };
  return {
      reject("C1", boolean({2}), {f32({3})}, plain, plain,
             "C1: pred is bool[2], expected a bool of one element"),
      reject("C1", f32({}), {f32({3})}, plain, plain,
             "C1: pred is f32[], expected a bool of one element"),
      reject("C2", flag(true), {f32({3}), f32({3})}, plain, plain,
             "C2: then takes 1 operands, got 2"),
      reject("C2", flag(true), {f32({3})}, plain,
             graph_text("", {"%r = full(size=[3], fill_value=1.0)"}, "%r"),
             "C2: otherwise takes 0 operands, got 1"),
      reject("C3", flag(true), {f32({4})}, plain, plain,
             "C3: %a of then is f32[3], its operand f32[4]"),
      reject("C3", flag(true), {f64({3})}, plain, plain,
             "C3: %a of then is f32[3], its operand f64[3]"),
      reject("C3", flag(true), {f32({3})},
             graph_text("%a: input f32[3]{1}", {"%r = sin(%a)"}, "%r"), plain,
             "C3: %a of then is f32[3]{1}, its operand f32[3]"),
      reject("C4", flag(true), {f32({3})}, plain, graph_text(head, {}, "%a, %a"),
             "C4: then returns 1 results, otherwise 2"),
      reject("C4", flag(true), {f32({3})}, plain, graph_text(head, {"%r = sum(%a)"}, "%r"),
             "C4: result 0 of then is f32[3], that of otherwise f32[]"),
      reject("C4", flag(true), {f32({3})}, graph_text(head, {}, ""), plain,
             "C4: then returns nothing"),
      reject("C4", flag(true), {f32({3})}, plain, graph_text(head, {"%r = sin(%a)"}, "%r -> %a"),
             "C4: otherwise updates or differentiates %a, expected results alone"),
      reject("C5", flag(true), {f32({3})}, graph_text("%s0: symint, %a: input f32[3]", {}, "%a"),
             plain, "C5: then has the symint s0, which the caller doesn't have"),
  };
}

}  // namespace cleave
