// Operators of texts that have no entry: what a call of one becomes, and what is refused.
// tests: composites.cpp
#include "import/exported/composites.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "interp/interpret.h"
#include "ir/text.h"
#include "op/registry.h"

namespace cleave::exported {
namespace {

using Numbers = std::vector<double>;

const OpRegistry& ops() {
  static const OpRegistry all = value_or_bug(core_ops());
  return all;
}

Result<cleave::Program> read(const std::string& text) {
  CLEAVE_TRY(cleave::Program p, parse(text, "t", ops(), aten_composites()));
  CLEAVE_CHECK(verify(p));
  return p;
}

// The first result of a graph of %x: f32[2,3] = 3 1 2, 5 5 4.
Numbers of_x(const std::string& body) {
  Result<cleave::Program> p = read("graph @g(%x: input f32[2,3]) {\n" + body + "}\n");
  if (!p.ok()) {
    ADD_FAILURE() << p.failure().message;
    return {};
  }
  Array x(DType::f32, {2, 3});
  const Numbers values = {3, 1, 2, 5, 5, 4};
  for (size_t k = 0; k < values.size(); ++k) x.set(static_cast<int64_t>(k), values[k]);
  Result<Arrays> made = interpret(p->main, {{"x", x}});
  if (!made.ok()) {
    ADD_FAILURE() << made.failure().message;
    return {};
  }
  Numbers out;
  for (int64_t i = 0; i < made->at(0).numel(); ++i) out.push_back(made->at(0).number(i));
  return out;
}

std::string message_of(const std::string& statement) {
  const Result<cleave::Program> p =
      read("graph @g(%x: input f32[2,3]) {\n  " + statement + "\n  return %x\n}\n");
  if (p.ok()) return "read";
  const std::string& text = p.failure().message;
  return text.substr(0, text.find('\n'));
}

TEST(Composites, results_have_the_names_and_types_of_the_text) {
  const std::string pair =
      "  %y, %at = cummax(%x; dim=1) : f32[2,3], i64[2,3]\n  %m = median(%x) : f32[]\n";
  EXPECT_EQ(of_x(pair + "  return %y, %at, %m\n"), (Numbers{3, 3, 3, 5, 5, 5}));
  EXPECT_EQ(of_x(pair + "  return %m\n"), (Numbers{3}));
  EXPECT_EQ(of_x("  %y, %at = median(%x; dim=1)\n  return %y\n"), (Numbers{2, 5}));
  EXPECT_EQ(of_x("  %y = copysign(%x; other=-1.0) : f32[2,3]\n  return %y\n"),
            (Numbers{-3, -1, -2, -5, -5, -4}));
}

TEST(Composites, sizes_lists_and_dtypes_reach_the_rule) {
  EXPECT_EQ(of_x("  %y = triu_indices(; row=2, col=2, dtype=i32) : i32[2,3]\n  return %y\n"),
            (Numbers{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(of_x("  %z = unsqueeze(%x; dim=0)\n"
                 "  %y, %at = adaptive_max_pool2d(%z; output_size=[1,1]) : f32[1,1,1], i64[1,1,1]\n"
                 "  return %y\n"),
            (Numbers{5}));
}

TEST(Composites, writes_where_strides_say) {
  const std::string given = "  %s = slice(%x; dim=1, end=2)\n  %t = permute(%s; dims=[1,0])\n";
  EXPECT_EQ(of_x(given + "  %y = as_strided_scatter(%x, %t; size=[2,2], stride=[3,1]) : f32[2,3]\n"
                         "  return %y\n"),
            (Numbers{3, 5, 2, 1, 5, 4}));
  // Places that are written twice hold what comes last.
  EXPECT_EQ(
      of_x(given + "  %y = as_strided_scatter(%x, %s; size=[2,2], stride=[1,1], storage_offset=3)\n"
                   "  return %y\n"),
      (Numbers{3, 1, 2, 3, 5, 5}));
}

TEST(Composites, shifts_to_the_left) {
  const std::string n = "  %n = _to_copy(%x; dtype=i32)\n";
  EXPECT_EQ(of_x(n + "  %y = __lshift__(%n; other=2) : i32[2,3]\n  return %y\n"),
            (Numbers{12, 4, 8, 20, 20, 16}));
  EXPECT_EQ(of_x(n + "  %y = bitwise_left_shift(%n, %n) : i32[2,3]\n  return %y\n"),
            (Numbers{24, 2, 8, 160, 160, 64}));
  EXPECT_EQ(of_x(n + "  %y = bitwise_left_shift(%n; other=32) : i32[2,3]\n  return %y\n"),
            (Numbers{0, 0, 0, 0, 0, 0}));
}

TEST(Composites, calls_before_the_results_are_named_after_the_first) {
  const Result<cleave::Program> p =
      read("graph @g(%x: input f32[2,3]) {\n  %y = addmv(%v, %x, %w; beta=2)\n  return %y\n}\n");
  ASSERT_FALSE(p.ok());
  const Result<cleave::Program> q = read(
      "graph @g(%x: input f32[2,3], %v: input f32[2], %w: input f32[3]) {\n"
      "  %y = addmv(%v, %x, %w; beta=2) : f32[2]\n  return %y\n}\n");
  ASSERT_TRUE(q.ok()) << q.failure().message;
  for (const NodeId n : q->main.order())
    EXPECT_TRUE(q->main.name(q->main.node(n).out(0)).starts_with("y")) << print(q->main);
  const Result<cleave::Program> again = parse(print(*q), "again", ops());
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(difference(q->main, again->main), "");
}

struct TextCall {
  std::string inputs, statement;
};

// One call of each, as PyTorch's decomposed graphs have them.
const TextCall calls[] = {
    {"%z: input c64[3,2]", "%y = _conj(%z) : c64[3,2]"},
    {"%z: input c64[3,2]", "%y = _conj_physical(%z) : c64[3,2]"},
    {"%z: input c64[3,5]", "%y = _fft_c2c(%z; dim=[1], normalization=0, forward=true) : c64[3,5]"},
    {"%z: input c64[3,5]",
     "%y = _fft_c2r(%z; dim=[0,1], normalization=2, last_dim_size=8) : f32[3,8]"},
    {"%x: input f64[3,8]",
     "%y = _fft_r2c(%x; dim=[1], normalization=1, onesided=true) : c128[3,5]"},
    {"%z: input c64[3,2]", "%y = _neg_view(%z) : c64[3,2]"},
    {"%a: input f32[3,1], %b: input f32[2]", "%y = complex(%a, %b) : c64[3,2]"},
    {"%z: input c64[3,2]", "%y = conj(%z) : c64[3,2]"},
    {"%z: input c64[3,2]", "%y = conj_physical(%z) : c64[3,2]"},
    {"%z: input c64[3,2]", "%y = imag(%z) : f32[3,2]"},
    {"%a: input f32[3,2], %b: input f32[3,2]", "%y = polar(%a, %b) : c64[3,2]"},
    {"%z: input c64[3,2]", "%y = real(%z) : f32[3,2]"},
    {"%z: input c64[3,2]", "%y = resolve_conj(%z) : c64[3,2]"},
    {"%z: input c64[3,2]", "%y = resolve_neg(%z) : c64[3,2]"},
    {"%z: input c64[3,2]", "%y = sgn(%z) : c64[3,2]"},
    {"%x: input f32[3,2,2]", "%y = view_as_complex(%x) : c64[3,2]"},
    {"%z: input c64[3,2]", "%y = view_as_real(%z) : f32[3,2,2]"},
    {"%a: input i64[6]", "%y = __lshift__(%a; other=2) : i64[6]"},
    {"%w: input f32[5,3], %i: input i64[4], %o: input i64[2]",
     "%y, %b, %c, %d = _embedding_bag_forward_only(%w, %i, %o; mode=1) : f32[2,3], i64[4], i64[2], "
     "i64[2]"},
    {"%a: input f32[8], %s: input f32[1], %z: input i32[1], %e: input i64[1]",
     "%y, %b = _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(%a, %s, %z, %e; "
     "quant_min=0, quant_max=15) : f32[8], bool[8]"},
    {"%a: input f32[4,1,3,1], %w: input f32[1,2,3,5], %b: input f32[4,1,1,5]",
     "%y = _trilinear(%a, %w, %b; expand1=[], expand2=[], expand3=[], sumdim=[2,3]) : f32[4,2]"},
    {"%a: input f32[1,2,7,9]",
     "%y = _upsample_bicubic2d_aa(%a; output_size=[3,4], align_corners=false) : f32[1,2,3,4]"},
    {"%a: input f32[1,2,7,9]",
     "%y = _upsample_bilinear2d_aa(%a; output_size=[3,4], align_corners=false) : f32[1,2,3,4]"},
    {"%d: input f32[3,4], %v: input f32[3,4], %g: input f32[3,1], %n: input f32[3,1]",
     "%y, %b = _weight_norm_interface_backward(%d, %v, %g, %n; dim=0) : f32[3,4], f32[3,1]"},
    {"%a: input f32[1,2,7,8]",
     "%y, %b = adaptive_max_pool2d(%a; output_size=[2,3]) : f32[1,2,2,3], i64[1,2,2,3]"},
    {"%a: input f32[1,2,5,7,4]",
     "%y, %b = adaptive_max_pool3d(%a; output_size=[2,3,1]) : f32[1,2,2,3,1], i64[1,2,2,3,1]"},
    {"%a: input f32[3,4], %b: input f32[2,3,5], %c: input f32[2,5,4]",
     "%y = addbmm(%a, %b, %c; beta=2, alpha=0.5) : f32[3,4]"},
    {"%a: input f32[3], %b: input f32[3,5], %c: input f32[5]",
     "%y = addmv(%a, %b, %c; beta=0.5, alpha=2) : f32[3]"},
    {"%a: input f32[5]", "%y = angle(%a) : f32[5]"},
    {"%a: input f32[3,4], %b: input f32[4,2]",
     "%y = as_strided_scatter(%a, %b; size=[4,2], stride=[1,5], storage_offset=2) : f32[3,4]"},
    {"%a: input i64[6], %b: input i32[6]", "%y = bitwise_left_shift(%a, %b) : i64[6]"},
    {"%a: input i64[6], %b: input i64[6]", "%y = bitwise_right_shift(%a, %b) : i64[6]"},
    {"%a: input f32[5], %b: input f32[3]", "%y = bucketize(%a, %b; right=true) : i64[5]"},
    {"%a: input f32[4,4]", "%y = cholesky_inverse(%a) : f32[4,4]"},
    {"%a: input f32[4,2], %b: input f32[4,4]", "%y = cholesky_solve(%a, %b) : f32[4,2]"},
    {"%a: input f32[5], %b: input f32[5]", "%y = copysign(%a, %b) : f32[5]"},
    {"%a: input f32[3,5]", "%y, %i = cummax(%a; dim=1) : f32[3,5], i64[3,5]"},
    {"%a: input f32[3,5]", "%y, %i = cummin(%a; dim=0) : f32[3,5], i64[3,5]"},
    {"%a: input f32[3,5], %b: input f32[3,5]", "%y = dist(%a, %b; p=3.0) : f32[]"},
    {"%a: input f32[2,8], %s: input f32[2], %z: input i32[2]",
     "%y, %m = fake_quantize_per_channel_affine_cachemask(%a, %s, %z; axis=0, quant_min=0, "
     "quant_max=15) : f32[2,8], bool[2,8]"},
    {"%a: input f32[8]",
     "%y, %m = fake_quantize_per_tensor_affine_cachemask(%a; scale=0.1, zero_point=2, "
     "quant_min=0, quant_max=15) : f32[8], bool[8]"},
    {"%a: input f32[5], %b: input f32[5]", "%y = fmax(%a, %b) : f32[5]"},
    {"%a: input f32[5], %b: input f32[5]", "%y = fmin(%a, %b) : f32[5]"},
    {"%a: input f32[5], %b: input f32[5]", "%y = hypot(%a, %b) : f32[5]"},
    {"%a: input f32[4,3], %i: input i64[3], %s: input f32[3,3]",
     "%y = index_reduce(%a, %i, %s; dim=0, reduce=\"mean\", include_self=false) : f32[4,3]"},
    {"%a: input f32[4,3]", "%y, %i = kthvalue(%a; k=2, dim=0, keepdim=true) : f32[1,3], i64[1,3]"},
    {"%a: input f32[4], %b: input i64[4]", "%y = ldexp(%a, %b) : f32[4]"},
    {"%a: input f32[3,5]", "%y = logcumsumexp(%a; dim=1) : f32[3,5]"},
    {"%a: input f32[3,5]", "%y = median(%a) : f32[]"},
    {"%a: input f32[3,5]", "%y, %i = median(%a; dim=1) : f32[3], i64[3]"},
    {"%a: input f32[3,5]", "%y = nanmedian(%a) : f32[]"},
    {"%a: input f32[3,5]", "%y, %i = nanmedian(%a; dim=1, keepdim=true) : f32[3,1], i64[3,1]"},
    {"%a: input f32[2,3,4], %w: input f32[3]",
     "%y, %m, %s = native_batch_norm(%a, %w; training=true, momentum=0.1, eps=1e-05) : "
     "f32[2,3,4], f32[3], f32[3]"},
    {"%a: input f32[2,5], %b: input f32[2,3], %o: input i64[2,5]",
     "%y = searchsorted(%a, %b, %o; side=\"right\") : i64[2,3]"},
    {"%a: input f32[5]", "%y = signbit(%a) : bool[5]"},
    {"%b: input f32[4,2], %a: input f32[4,4]",
     "%y, %c = triangular_solve(%b, %a; upper=false) : f32[4,2], f32[4,4]"},
    {"", "%y = tril_indices(row=3, col=4, offset=-1) : i64[2,3]"},
    {"", "%y = triu_indices(row=3, col=4, offset=1) : i64[2,6]"},
    {"%a: input f32[1,2,4,5]",
     "%y = upsample_bicubic2d(%a; output_size=[8,10], align_corners=false) : f32[1,2,8,10]"},
    {"%a: input f32[1,2,2,4,3]",
     "%y = upsample_trilinear3d(%a; output_size=[3,5,4], align_corners=true) : f32[1,2,3,5,4]"},
    {"%a: input f32[3,5]", "%y, %m = var_mean(%a; dim=[1], correction=2) : f32[3], f32[3]"}};

TEST(Composites, each_is_read_with_its_types) {
  std::set<std::string> names;
  for (const TextCall& call : calls) {
    const Result<cleave::Program> p =
        read("graph @g(" + call.inputs + ") {\n  " + call.statement + "\n  return %y\n}\n");
    ASSERT_TRUE(p.ok()) << call.statement << "\n" << p.failure().message;
    for (const Placeholder& input : p->main.placeholders())
      EXPECT_NE(call.inputs.find("%" + p->main.name(input.value) + ":"), std::string::npos)
          << print(p->main);
    const size_t begin = call.statement.find("= ") + 2;
    names.insert(call.statement.substr(begin, call.statement.find('(') - begin));
  }
  EXPECT_EQ(std::vector<std::string>(names.begin(), names.end()), aten_composite_names());
}

// The text with every tensor on a GPU.
std::string on_device(const std::string& text) {
  static const std::regex types("((f|i|u|bf|c)(8|16|32|64|128)|bool)(\\[[^\\]]*\\])");
  return std::regex_replace(text, types, "$&@cuda:0");
}

TEST(Composites, values_on_a_device_stay_there) {
  for (const TextCall& call : calls) {
    if (call.inputs.empty()) continue;  // indices are made on the CPU
    const Result<cleave::Program> p = read(
        on_device("graph @g(" + call.inputs + ") {\n  " + call.statement + "\n  return %y\n}\n"));
    EXPECT_TRUE(p.ok()) << p.failure().message;
  }
  const Result<cleave::Program> p = read(
      "graph @g(%x: input f32[2,3]@cuda:0) {\n"
      "  %y, %i = cummax(%x; dim=1) : f32[2,3]@cuda:0, i64[2,3]@cuda:0\n"
      "  %n = bitwise_left_shift(%i, %i) : i64[2,3]@cuda:0\n  return %y, %n\n}\n");
  EXPECT_TRUE(p.ok()) << p.failure().message;
}

TEST(Composites, sizes_with_symbols) {
  const Result<cleave::Program> p = read(
      "graph @g(%n: symint range(2,100), %x: input f32[n,3]) {\n"
      "  %y, %i = cummax(%x; dim=1) !recompute(must_save) : f32[n,3], i64[n,3]\n"
      "  %h = fmax(%y, %x) : f32[n,3]\n  return %h\n}\n");
  ASSERT_TRUE(p.ok()) << p.failure().message;
  const cleave::Node& node = p->main.node(p->main.value(p->main.find("y")).def);
  EXPECT_EQ(node.tag.policy, Recompute::must_save);
}

TEST(Composites, halves_are_rounded_once) {
  const Result<cleave::Program> p = read(
      "graph @g(%a: input bf16[3], %b: input bf16[3]) {\n"
      "  %y = dist(%a, %b) : bf16[]\n  return %y\n}\n");
  EXPECT_TRUE(p.ok()) << p.failure().message;
}

// Rotary embedding as the first Llama has it, by numbers: (1 + 2i) i, (3 - i) (-1), |.|
TEST(Composites, complex_tensors_are_their_parts) {
  const Result<cleave::Program> p = read(
      "graph @g(%x: input f32[2,2] grad, %t: const c64[2], %n: input f32[2]) {\n"
      "  %z = view_as_complex(%x) : c64[2]\n"
      "  %abs_1 = mul(%z, %t) : c64[2]\n"
      "  %w = mul(%abs_1; other=2) : c64[2]\n"
      "  %s = slice(%w; dim=-1, start=1) : c64[1]\n"
      "  %v = mul(%s, %n) : c64[2]\n"
      "  %abs_2 = abs(%v) : f32[2]\n"
      "  %a, %b = split(%w; split_size=1) : c64[1], c64[1]\n"
      "  %c = cat([%a, %b]) : c64[2]\n"
      "  %y = view_as_real(%c) : f32[2,2]\n  return %y, %abs_2\n}\n");
  ASSERT_TRUE(p.ok()) << p.failure().message;
  Array x(DType::f32, {2, 2}), t(DType::f32, {2, 2}), n(DType::f32, {2});
  const auto fill = [](Array& a, const Numbers& values) {
    for (size_t k = 0; k < values.size(); ++k) a.set(static_cast<int64_t>(k), values[k]);
  };
  fill(x, {1, 2, 3, -4});
  fill(t, {0, 1, -1, 0});
  fill(n, {1, -3});
  const Result<Arrays> made = interpret(p->main, {{"x", x}, {"t", t}, {"n", n}});
  ASSERT_TRUE(made.ok()) << made.failure().message;
  const auto numbers = [](const Array& a) {
    Numbers out;
    for (int64_t i = 0; i < a.numel(); ++i) out.push_back(a.number(i));
    return out;
  };
  EXPECT_EQ(numbers(made->at(0)), (Numbers{-4, 2, -6, 8}));
  EXPECT_EQ(numbers(made->at(1)), (Numbers{10, 30}));
}

TEST(Composites, complex_tensors_of_sizes_with_symbols) {
  const Result<cleave::Program> p = read(
      "graph @g(%n: symint range(2,100), %z: input c64[n,3]{3,1}) {\n"
      "  %t = permute(%z; dims=[1,0]) : c64[3,n]\n"
      "  %y = mm(%z, %t) !recompute(must_save) : c64[n,n]\n"
      "  %s = sum(%y; dim=[-1]) : c64[n]\n  return %s\n}\n");
  ASSERT_TRUE(p.ok()) << p.failure().message;
  EXPECT_EQ(p->main.type(p->main.find("z")).text(), "f32[n,3,2]{6,2,1}");
  EXPECT_EQ(p->main.type(p->main.find("s")).text(), "f32[n,2]");
}

TEST(Composites, messages_of_complex_tensors) {
  const auto message = [](const std::string& statement) {
    const Result<cleave::Program> p = read("graph @g(%x: input f32[2], %z: input c64[2]) {\n  " +
                                           statement + "\n  return %x\n}\n");
    return p.ok() ? "read" : p.failure().message.substr(0, p.failure().message.find('\n'));
  };
  EXPECT_EQ(message("%y = polar(%x, %x)"),
            "t:2:8: P20: polar has complex tensors, expected the type of its result, such as "
            "c64[2]");
  EXPECT_EQ(message("%y = mul(%z, %z)"),
            "t:2:8: P20: mul of complex tensors, expected the types of its results behind ':'");
  EXPECT_EQ(message("%y = tan(%z) : c64[2]"),
            "t:2:8: P20: the operator tan of complex tensors is not covered");
  EXPECT_EQ(message("%y = mul(%z, %x) : c64[3]"),
            "t:2:22: P17: f32[3,2] is given, expected f32[2,2]");
  EXPECT_EQ(message("%y = cos(%z) : c65[2]").substr(0, 40),
            "t:2:18: P8: the dtype 'c65' is not known");
}

TEST(Composites, messages) {
  EXPECT_EQ(message_of("%y = cummax(%x; dim=1)"), "t:2:3: P16: 1 result, expected the 2 of cummax");
  EXPECT_EQ(
      message_of("%y, %z = cummax(%x)"),
      "t:2:12: P15: the attribute 'dim' of cummax is missing, expected it: it has no default");
  EXPECT_EQ(
      message_of("%y, %z = cummax(%x; dims=1)"),
      "t:2:23: P15: cummax has no attribute 'dims', expected one of: dim; the nearest is 'dim'");
  EXPECT_EQ(message_of("%x, %z = cummax(%x; dim=1)"),
            "t:2:3: P11: the name %x is taken, expected a new one");
  EXPECT_EQ(message_of("%y = hypot(%x)"),
            "t:2:16: P14: the operand 'other' of hypot is missing, expected a value");
  EXPECT_EQ(message_of("%y = hypot(%x, %x) : f32[3,2]"),
            "t:2:24: P17: f32[3,2] is given, expected f32[2,3]");
  EXPECT_TRUE(message_of("%y, %z = cummax(%x; dim=7)").starts_with("t:2:12: "))
      << message_of("%y, %z = cummax(%x; dim=7)");
}

TEST(Composites, texts_without_them_refuse_by_name) {
  const Result<cleave::Program> p = parse(
      "graph @g(%x: input f32[2]) {\n  %y, %z = cummax(%x; dim=0)\n  return %y\n}\n", "t", ops());
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.failure().message.find("cummax"), std::string::npos);
}

}  // namespace
}  // namespace cleave::exported
