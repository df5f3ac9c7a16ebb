// parse(print(g)) == g, and the one form in which a graph is printed.
// tests: print_text.cpp parse.cpp
// tests: difference.cpp
#include "test/ir/toy_text.h"

namespace cleave {
namespace {

// Reads, prints, reads and compares; returns what was printed.
std::string printed(const std::string& text) {
  const Program p = read(text);
  const std::string out = print(p);
  const auto again = try_read(out);
  EXPECT_TRUE(again.ok()) << (again.ok() ? "" : again.failure().message) << "\n" << out;
  if (!again.ok()) return out;
  EXPECT_EQ(difference(p, *again), "") << out;
  EXPECT_EQ(print(*again), out);
  EXPECT_TRUE(verify(p).ok()) << verify(p).failure().message;
  return out;
}

struct Case {
  const char* what;
  const char* body;   // as written, of a graph with %x %y: f32[2,3] and %i: i64[4]
  const char* again;  // as printed
};

const Case statements[] = {
    {"blanks and comments are dropped", "  %a=exp( %x )#why\n\n   # a line\n  return   %a",
     "  %a = exp(%x) : f32[2,3]\n  return %a\n"},
    {"types may be given", "  %a = exp(%x) : f32[2,3]\n  return %a",
     "  %a = exp(%x) : f32[2,3]\n  return %a\n"},
    {"defaults are left out",
     "  %a = sum(%x; dim=none, keepdim=false)\n  %b = add(%x, %y; alpha=1)\n  return %a, %b",
     "  %a = sum(%x) : f32[]\n  %b = add(%x, %y) : f32[2,3]\n  return %a, %b\n"},
    {"1 and 1.0 differ", "  %a = add(%x; other=1)\n  %b = add(%x; other=1.0)\n  return %a, %b",
     "  %a = add(%x; other=1) : f32[2,3]\n  %b = add(%x; other=1.0) : f32[2,3]\n  return %a, %b\n"},
    {"a number may stand first", "  %a = sub(%x; self=1)\n  return %a",
     "  %a = sub(%x; self=1) : f32[2,3]\n  return %a\n"},
    {"an operand in front of a number", "  %a = sub(%x; other=true, alpha=2)\n  return %a",
     "  %a = sub(%x; other=true, alpha=2) : f32[2,3]\n  return %a\n"},
    {"attributes alone have no ';'", "  %a = full(fill_value=nan, size=[])\n  return %a",
     "  %a = full(size=[], fill_value=nan) : f32[]\n  return %a\n"},
    {"attributes stand in the signature's order",
     "  %a = sum(%x; keepdim=true, dim=[-1])\n  return %a",
     "  %a = sum(%x; dim=[-1], keepdim=true) : f32[2,1]\n  return %a\n"},
    {"a number for a list is a list", "  %a = sum(%x; dim=1)\n  return %a",
     "  %a = sum(%x; dim=[1]) : f32[2]\n  return %a\n"},
    {"an integer for a float is one", "  %a = clamp(%x; lo=-2, hi=3)\n  return %a",
     "  %a = clamp(%x; lo=-2.0, hi=3.0) : f32[2,3]\n  return %a\n"},
    {"floats", "  %a = clamp(%x; lo=-1e-05, hi=1e+20)\n  %b = clamp(%x; lo=-inf, hi=0.1)\n  return",
     "  %a = clamp(%x; lo=-1e-05, hi=1e+20) : f32[2,3]\n"
     "  %b = clamp(%x; lo=-inf, hi=0.1) : f32[2,3]\n  return\n"},
    {"the sign of zero", "  %a = clamp(%x; lo=-0.0)\n  %b = add(%x; other=-0)\n  return %a, %b",
     "  %a = clamp(%x; lo=-0.0) : f32[2,3]\n  %b = add(%x; other=0) : f32[2,3]\n  return %a, %b\n"},
    {"the ends of 64 bits",
     "  %a = add(%x; other=9223372036854775807)\n  %b = add(%x; other=-9223372036854775808)\n"
     "  return %a, %b",
     "  %a = add(%x; other=9223372036854775807) : f32[2,3]\n"
     "  %b = add(%x; other=-9223372036854775808) : f32[2,3]\n  return %a, %b\n"},
    {"sizes are computed", "  %a = view(%x; size=[2*(1+2)-3,floordiv(5,2)])\n  return %a",
     "  %a = view(%x; size=[3,2]) : f32[3,2]\n  return %a\n"},
    {"strings", R"(  %a = gelu(%x; approximate="\"\\\n\t\x00\x7f/é")
  return %a)",
     "  %a = gelu(%x; approximate=\"\\\"\\\\\\n\\t\\x00\\x7f/é\") : f32[2,3]\n  return %a\n"},
    {"memory formats and dtypes",
     "  %a = ones_like(%x; memory_format=channels_last)\n"
     "  %b = full(size=[1], fill_value=true, dtype=bool)\n  return %a, %b",
     "  %a = ones_like(%x; memory_format=channels_last) : f32[2,3]\n"
     "  %b = full(size=[1], fill_value=true, dtype=bool) : bool[1]\n  return %a, %b\n"},
    {"lists of operands",
     "  %a = cat([%x,%y]; dim=-1)\n  %b = index(%x, [none, %i, none])\n  return %a",
     "  %a = cat([%x, %y]; dim=-1) : f32[2,6]\n  %b = index(%x, [none, %i, none]) : f32[2,3]\n"
     "  return %a\n"},
    {"an empty list of operands", "  %a = index(%x, [])\n  return %a",
     "  %a = index(%x, []) : f32[2,3]\n  return %a\n"},
    {"trailing none is dropped, others are not",
     "  %a, %m, %r = native_layer_norm(%x, none, none; normalized_shape=[3], eps=1e-05)\n"
     "  %b, %n, %s = native_layer_norm(%x, none, %y; normalized_shape=[3], eps=1e-05)\n  return %a",
     "  %a, %m, %r = native_layer_norm(%x; normalized_shape=[3], eps=1e-05) : f32[2,3], f32[2,1], "
     "f32[2,1]\n"
     "  %b, %n, %s = native_layer_norm(%x, none, %y; normalized_shape=[3], eps=1e-05) : f32[2,3], "
     "f32[2,1], f32[2,1]\n  return %a\n"},
    {"an unused result may be given as none",
     "  %a, %m, %r = native_layer_norm(%x; normalized_shape=[3], eps=1e-05) : f32[2,3], none, "
     "none\n"
     "  return %a",
     "  %a, %m, %r = native_layer_norm(%x; normalized_shape=[3], eps=1e-05) : f32[2,3], f32[2,1], "
     "f32[2,1]\n  return %a\n"},
    {"a result that is none",
     "  %a, %b = masked(%x)\n  %c, %d = masked(%x; second=true)\n  return %a",
     "  %a, %b = masked(%x) : f32[2,3], none\n"
     "  %c, %d = masked(%x; second=true) : f32[2,3], f32[2,3]\n  return %a\n"},
    {"as many results as pieces",
     "  %a, %b = split_with_sizes(%x; split_sizes=[1,2], dim=1)\n  return",
     "  %a, %b = split_with_sizes(%x; split_sizes=[1,2], dim=1) : f32[2,1], f32[2,2]\n  return\n"},
    {"an effect without results", "  print_line(%x; text=\"a\")\n  return %x",
     "  print_line(%x; text=\"a\")\n  return %x\n"},
    {"strides", "  %a = exp(%x) : f32[2,3]{1,2}\n  %b = exp(%a)\n  return %b",
     "  %a = exp(%x) : f32[2,3]{1,2}\n  %b = exp(%a) : f32[2,3]\n  return %b\n"},
    {"tags",
     "  %a = exp(%x) !recompute(must_save, ac=3)\n  %b = exp(%a) !recompute(prefer_recompute, "
     "memory_budget=0.25) : "
     "f32[2,3]\n  return %b",
     "  %a = exp(%x) !recompute(must_save, ac=3) : f32[2,3]\n"
     "  %b = exp(%a) !recompute(prefer_recompute, memory_budget=0.25) : f32[2,3]\n  return %b\n"},
    {"sources",
     "  %a = exp(%x) # m/gpt-2.cpp:12\n  %b = exp(%a) # \"my model.cpp\":3\n"
     "  %c = exp(%b) # see above: 12\n  return %c # r:1",
     "  %a = exp(%x) : f32[2,3]  # m/gpt-2.cpp:12\n"
     "  %b = exp(%a) : f32[2,3]  # \"my model.cpp\":3\n  %c = exp(%b) : f32[2,3]\n  return %c\n"},
    {"names", "  %0.a-b/c_ = exp(%x)\n  %- = exp(%0.a-b/c_)\n  return %-->%x",
     "  %0.a-b/c_ = exp(%x) : f32[2,3]\n  %- = exp(%0.a-b/c_) : f32[2,3]\n  return %- -> %x\n"},
    {"a value returned twice, and a placeholder", "  return %x, %x, %i", "  return %x, %x, %i\n"},
    {"updates and gradients", "  return %y -> %x, %x->grad %y",
     "  return %y -> %x, %x -> grad %y\n"},
};

TEST(RoundTrip, statements_have_one_form) {
  const std::string head = "%x: input f32[2,3], %y: param f32[2,3] grad, %i: input i64[4]";
  for (const Case& c : statements)
    EXPECT_EQ(printed(graph_text(head, std::string(c.body) + "\n")), graph_text(head, c.again))
        << c.what;
}

TEST(RoundTrip, headers_have_one_form) {
  const std::string text =
      "clv 1\n\n# a comment\ngraph @g(\n  %w: param f32[3,4]{1,3} grad, # weight\n"
      "  %b: buffer bf16[2]@cuda:1,%c: const c64[], %x: input bool[0],\n\n"
      "  %t: tangent f64[1], %s: saved f16[s_1], %rng: rng_state i64[2]\n) {\n  return\n}";
  EXPECT_NE(refusal(text).find("P10: the symbol 's_1' is not declared"), std::string::npos);
  const std::string declared = "%s_1: symint range(2,4096) hint(8), %s_2: symint hint(0), ";
  std::string with = text;
  with.insert(with.find("%w"), declared);
  EXPECT_EQ(printed(with),
            "graph @g(%s_1: symint range(2,4096) hint(8), %s_2: symint hint(0), %w: param "
            "f32[3,4]{1,3} grad, %b: buffer bf16[2]@cuda:1, %c: const c64[], %x: input bool[0], "
            "%t: tangent f64[1], %s: saved f16[s_1], %rng: rng_state i64[2]) {\n  return\n}\n");
}

TEST(RoundTrip, sizes_are_canonical) {
  const std::pair<const char*, const char*> sizes[] = {
      {"s0*4", "s0*4"},
      {"4*s0", "s0*4"},
      {"s1*s0+2", "s0*s1+2"},
      {"2-s0", "s0*-1+2"},
      {"-(s0-s1)", "s0*-1+s1"},
      {"(s0+1)*(s0-1)", "s0*s0-1"},
      {"floordiv(s0*4+8,4)", "s0+2"},
      {"floordiv(s0,2)*2", "floordiv(s0,2)*2"},
      {"mod(s0*6,3)+mod(s0,3)", "mod(s0,3)"},
      {"min(s1,s0)", "min(s0,s1)"},
      {"max(s0+3,s0)", "s0+3"},
      {"min(s0,max(4,2))", "min(4,s0)"},
  };
  for (const auto& [written, canonical] : sizes) {
    auto text = [](const std::string& size) {
      return "graph @main(%s0: symint range(2,9), %s1: symint range(1,9), %x: input f32[" + size +
             "]) {\n  return %x\n}\n";
    };
    const Program p = read(text(written)), q = read(text(canonical));
    EXPECT_EQ(print(p), text(canonical));
    EXPECT_EQ(difference(p, q), "");
  }
}

TEST(RoundTrip, inference_is_symbolic) {
  EXPECT_EQ(printed("graph @main(%s0: symint range(2,4096), %x: input f32[s0*4,64]) {\n"
                    "  %h = half(%x) : f32[2*s0,64]\n"
                    "  %v = view(%h; size=[s0,128])\n"
                    "  %c = cat([%v, %v, %h]; dim=0)\n"
                    "  return %c\n}\n"),
            "graph @main(%s0: symint range(2,4096), %x: input f32[s0*4,64]) {\n"
            "  %h = half(%x) : f32[s0*2,64]\n"
            "  %v = view(%h; size=[s0,128]) : f32[s0,128]\n"
            "  %c = cat([%v, %v, %h]) : f32[s0*4,128]\n"
            "  return %c\n}\n");
}

TEST(RoundTrip, a_file_of_graphs) {
  const std::string text =
      "graph @g1(%p: input f32[2]) {\n"
      "  %q = exp(%p) : f32[2]\n"
      "  return %q\n"
      "}\n\n"
      "graph @main(%c: input bool[], %x: input f32[2]) {\n"
      "  %y = cond(%c, [%x]; then=@g1, otherwise=@g1) : f32[2]\n"
      "  return %y\n"
      "}\n";
  EXPECT_EQ(printed(text), text);
  const Program p = read(text);
  ASSERT_EQ(p.subgraphs.size(), 1u);
  EXPECT_EQ(p.subgraphs[0]->name(), "g1");
  // a graph alone is printed with what it refers to
  EXPECT_EQ(print(p.main), text);
}

TEST(RoundTrip, canonical_names) {
  const Program p = read(
      "graph @main(%x: param f32[2], %1: input f32[2]) {\n"
      "  %abc = add(%x, %1)\n  %m, %n = masked(%abc)\n  %z = exp(%m)\n  return %z -> %x\n}\n");
  EXPECT_EQ(print(p, Naming::canonical),
            "graph @main(%x: param f32[2], %1: input f32[2]) {\n"
            "  %0 = add(%x, %1) : f32[2]\n"
            "  %2, %3 = masked(%0) : f32[2], none\n"
            "  %4 = exp(%2) : f32[2]\n"
            "  return %4 -> %x\n"
            "}\n");
  const Program again = read(print(p, Naming::canonical));
  EXPECT_EQ(print(again, Naming::canonical), print(p, Naming::canonical));
  EXPECT_NE(difference(again, p), "");
}

// The example of the grammar's page.
TEST(RoundTrip, the_example) {
  const std::string body =
      "  %e = exp(%wte.weight)                                            : f32[97,64]   # "
      "gpt.cpp:12\n"
      "  %y, %mean, %rstd = native_layer_norm(%e; normalized_shape=[64], eps=1e-05) : f32[97,64], "
      "f32[97,1], f32[97,1]\n"
      "  %d, %mask = native_dropout(%y, %rng; p=0.1, train=true, stream=3) : f32[97,64], "
      "bool[97,64]\n"
      "  %s = add(%d; other=1.0)                                    : f32[97,64]\n"
      "  %c = cat([%s, %d]; dim=-1)                                 : f32[97,128]\n"
      "  %m2 = sum(%y; dim=[0])                                     : f32[64]\n"
      "  %rng2 = rng_next(%rng)                                     : i64[2]\n"
      "  return %c, %m2 -> %m, %rng2 -> %rng\n";
  const std::string out =
      printed(graph_text("%wte.weight: param f32[97,64] grad, %i: input i64[2,16], %m: buffer "
                         "f32[64], %rng: rng_state "
                         "i64[2]",
                         body));
  EXPECT_NE(out.find("  %e = exp(%wte.weight) : f32[97,64]  # gpt.cpp:12\n"), std::string::npos);
}

// What the exporters of PyTorch programs write: an empty call `op(; )`, a return of nothing, blank
// lines, names of parameters that begin with digits.
TEST(RoundTrip, exported_forms) {
  OpRegistry ops = toy_ops();
  ASSERT_TRUE(
      ops.add(toy_op("zero", "() -> Tensor",
                     [](const OpView&) -> Result<Types> { return Types{Type(DType::f32, {})}; }))
          .ok());
  const auto p = parse(
      "graph @joint(%0.weight: param f32[7,12] grad, %tangents_1: tangent f32[]) {\n"
      "\n  %z = zero(; ) : f32[]\n  %t = permute(%0.weight; dims=[1, 0]) : f32[12,7]\n"
      "  return \n}\n",
      "t.clv", ops);
  ASSERT_TRUE(p.ok()) << p.failure().message;
  EXPECT_EQ(
      print(*p),
      "graph @joint(%0.weight: param f32[7,12] grad, %tangents_1: tangent f32[]) {\n"
      "  %z = zero() : f32[]\n  %t = permute(%0.weight; dims=[1,0]) : f32[12,7]\n  return\n}\n");
}

// A text that doesn't depend on where its lines stand, and back.
TEST(Print, sources_as_numbers) {
  const std::string head = "%x: input f32[2]";
  auto body = [](const char* a, const char* b) {
    return fmt::format(
        "  %a = exp(%x) : f32[2]  # {0}\n  %b = exp(%a) : f32[2]  # {1}\n"
        "  print_line(%b; text=\"  # @0:1\")\n  %d = exp(%b) : f32[2]  # {0}\n"
        "  return %d\n",
        a, b);
  };
  const Graph first = read(graph_text(head, body("\"my model.cpp\":3", "@7:1"))).main;
  const Graph second = read(graph_text(head, body("net.cpp:4", "net.cpp:5"))).main;
  const Graph one_line = read(graph_text(head, body("net.cpp:4", "net.cpp:4"))).main;
  SourceLines lines, others, one;
  const std::string text = print(first, lines);
  EXPECT_EQ(text, graph_text(head, body("@0:1", "@1:1")));
  EXPECT_EQ(print(second, others), text);
  EXPECT_NE(print(one_line, one), text);  // lines that are equal stay equal
  EXPECT_EQ(lines.lines(), (std::vector<std::string>{"\"my model.cpp\":3", "@7:1"}));
  EXPECT_EQ(with_lines(text, lines.lines()), print(first));
  EXPECT_EQ(with_lines(text, others.lines()), print(second));
  EXPECT_EQ(with_lines(text, {"a.cpp:1"}), graph_text(head, body("a.cpp:1", "@1:1")));
  EXPECT_EQ(with_lines("  # @0:1", {"a.cpp:1"}), "  # a.cpp:1");
  EXPECT_EQ(with_lines("  # @0:12\n  # @99999999999999999999:1\n", {"a.cpp:1"}),
            "  # @0:12\n  # @99999999999999999999:1\n");
}

TEST(Difference, names_the_first) {
  const std::string head = "%x: input f32[2], %y: input f32[2]";
  auto graph = [&](const std::string& body) { return read(graph_text(head, body)).main; };
  const Graph a = graph("  %a = add(%x, %y; alpha=2)\n  return %a\n");
  EXPECT_EQ(difference(a, a), "");
  EXPECT_EQ(difference(a, graph("  %a = add(%y, %x; alpha=2)\n  return %a\n")),
            "@main: '%a = add(%x, %y; alpha=2) : f32[2]' against "
            "'%a = add(%y, %x; alpha=2) : f32[2]'");
  EXPECT_EQ(difference(a, graph("  %a = add(%x, %y; alpha=2.0)\n  return %a\n")),
            "@main: '%a = add(%x, %y; alpha=2) : f32[2]' against "
            "'%a = add(%x, %y; alpha=2.0) : f32[2]': 2 against 2.0");
  EXPECT_EQ(difference(a, graph("  %b = add(%x, %y; alpha=2)\n  return %b\n")),
            "@main: '%a = add(%x, %y; alpha=2) : f32[2]' against "
            "'%b = add(%x, %y; alpha=2) : f32[2]': %a against %b");
  EXPECT_EQ(difference(a, graph("  %a = add(%x, %y; alpha=2) # a:1\n  return %a\n")),
            "@main: '%a = add(%x, %y; alpha=2) : f32[2]' against "
            "'%a = add(%x, %y; alpha=2) : f32[2]  # a:1'");
  EXPECT_EQ(difference(a, graph("  %a = add(%x, %y; alpha=2)\n  return %a, %a\n")),
            "@main: 1 returns against 2");
  EXPECT_EQ(difference(a, graph("  %a = add(%x, %y; alpha=2)\n  return %a -> %x\n")),
            "@main: entry 0 of return");
  EXPECT_EQ(difference(a, graph("  return %x\n")), "@main: 1 nodes against 0");
  const std::string other = "%x: input f32[2], %y: input f32[3]";
  EXPECT_EQ(difference(graph("  return %x\n"), read(graph_text(other, "  return %x\n")).main),
            "@main: %y is f32[2] against f32[3]");
}

}  // namespace
}  // namespace cleave
