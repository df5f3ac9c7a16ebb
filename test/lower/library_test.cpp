// Library calls as thunks: which memory they access, in which layout, what is copied for them.
// tests: lower_library.cpp traffic.cpp
#include <gtest/gtest.h>

#include <algorithm>

#include "lower/thunk_uses.h"
#include "lower/traffic.h"
#include "test/lower/lowered.h"

namespace cleave {
namespace {

using test::lowered;

const LibraryCall* library_call(const LoweredProgram& p, const std::string& thunk) {
  for (const Thunk& s : p.thunks)
    if (s.name == thunk) return std::get_if<LibraryCall>(&s.work);
  return nullptr;
}

const LibraryCall::Operand* operand(const LibraryCall& call, size_t position) {
  const auto found = std::ranges::find(call.operands, position, &LibraryCall::Operand::position);
  return found == call.operands.end() ? nullptr : &*found;
}

TEST(Library, AProductReadsAsItLies) {
  const LoweredProgram p = lowered(
      "graph @g(%a: input f32[4,3], %b: input f32[5,4], %c: input f32[5]) {\n"
      "  %t = permute(%a; dims=[1,0])\n  %u = permute(%b; dims=[1,0])\n"
      "  %y = addmm(%c, %t, %u; beta=2.0, alpha=3.0)\n  return %y\n}\n");
  ASSERT_EQ(p.thunks.size(), 1u);
  const LibraryCall* call = library_call(p, "y");
  ASSERT_TRUE(call);
  EXPECT_EQ(std::get<GemmSpec>(call->spec), (GemmSpec{.m = 3,
                                                      .n = 5,
                                                      .k = 4,
                                                      .a_row = 1,
                                                      .a_col = 3,
                                                      .b_row = 1,
                                                      .b_col = 4,
                                                      .has_c_in = true,
                                                      .alpha = 3,
                                                      .beta = 2}));
  EXPECT_EQ(p.storages[operand(*call, GemmOperand::a)->storage].placeholder, 0);
  EXPECT_EQ(operand(*call, GemmOperand::c)->access, loop::LibraryAccess::write);
  EXPECT_EQ(operand(*call, GemmOperand::c)->storage, p.returns[0]);
  EXPECT_EQ(operand(*call, GemmOperand::scale), nullptr);
}

TEST(Library, ATermTimesZeroIsNotRead) {
  const LoweredProgram p = lowered(
      "graph @g(%a: input f32[3,4], %b: input f32[4,5], %c: input f32[5]) {\n"
      "  %y = addmm(%c, %a, %b; beta=0.0)\n  return %y\n}\n");
  const LibraryCall* call = library_call(p, "y");
  ASSERT_TRUE(call);
  EXPECT_EQ(operand(*call, GemmOperand::c_in), nullptr);
  EXPECT_EQ(std::get<GemmSpec>(call->spec).beta, 1);
  EXPECT_EQ(storages_of(p.thunks[0]).size(), 3u);
}

const std::string convolution =
    "stride=[1,1], padding=[0,0], dilation=[1,1], transposed=false, output_padding=[0,0], groups=1";

TEST(Library, AConvolutionReadsWithoutGaps) {
  const LoweredProgram p = lowered(
      "graph @g(%x: input f32[3,4,4,2], %w: input f32[5,2,3,3]) {\n"
      "  %t = permute(%x; dims=[0,3,1,2])\n  %s = slice(%t; dim=0, start=1, end=3)\n"
      "  %y = convolution(%s, %w, none; " +
      convolution + ")\n  return %y\n}\n");
  const LibraryCall* call = library_call(p, "y");
  ASSERT_TRUE(call);
  const LibraryCall::Operand& image = *operand(*call, ConvolutionOperand::image);
  EXPECT_LT(p.storages[image.storage].placeholder, 0);  // a copy
  EXPECT_TRUE(loop::is_without_gaps(image.layout));
  EXPECT_EQ(std::get<ConvolutionSpec>(call->spec).images, 2);
  EXPECT_EQ(operand(*call, ConvolutionOperand::bias), nullptr);
}

// The gradient by the image knows that by its sizes; read or not is said by operand, not by memory.
TEST(Library, WhatGivesItsSizesIsThereAndNotRead) {
  const std::string backward =
      "  %dx, %dw, %db = convolution_backward(%d, %x, %w; bias_sizes=[2], " + convolution +
      ", output_mask=[true,false,false])\n  return %dx\n}\n";
  const LoweredProgram apart = lowered(
      "graph @g(%d: input f32[1,2,2,2], %x: input f32[1,2,4,4], %w: input f32[2,2,3,3]) {\n" +
      backward);
  const LibraryCall* call = library_call(apart, "dx");
  ASSERT_TRUE(call);
  EXPECT_EQ(operand(*call, ConvolutionOperand::sizes)->access, loop::LibraryAccess::sizes);
  EXPECT_EQ(storages_of(apart.thunks[0]).size(), 4u);
  EXPECT_EQ(traffic_of(apart, apart.thunks[0]).read, (8 + 36) * 4);

  const LoweredProgram shared = lowered(
      "graph @g(%d: input f32[1,2,2,2], %m: input f32[68]) {\n"
      "  %a = slice(%m; dim=0, start=0, end=32)\n  %x = view(%a; size=[1,2,4,4])\n"
      "  %b = slice(%m; dim=0, start=32, end=68)\n  %w = view(%b; size=[2,2,3,3])\n" +
      backward);
  ASSERT_EQ(shared.thunks.size(), 1u);
  EXPECT_EQ(traffic_of(shared, shared.thunks[0]).read, (8 + 68) * 4);
}

std::string dropped_attention(bool sums, const std::string& returns) {
  return "graph @g(%q: input f32[1,2,5,4], %r: rng_state i64[2]) {\n"
         "  %y, %l, %s, %o = _scaled_dot_product_efficient_attention(%q, %q, %q, none, %r; "
         "compute_log_sumexp=" +
         std::string(sums ? "true" : "false") + ", dropout_p=0.5)\n  return " + returns + "\n}\n";
}

TEST(Library, AnAttentionTouchesElementsAndRows) {
  const LoweredProgram p = lowered(dropped_attention(true, "%y, %l, %o"));
  const LibraryCall* call = library_call(p, "y");
  ASSERT_TRUE(call);
  using At = AttentionOperand;
  EXPECT_EQ(operand(*call, At::step)->layout.offset, 1);
  EXPECT_EQ(operand(*call, At::step)->layout.numel(), 1);
  EXPECT_EQ(operand(*call, At::logsumexp)->layout.shape, (std::vector<int64_t>{1, 2, 5}));
  EXPECT_EQ(std::get<AttentionSpec>(call->spec).sum_rows, 32);
  EXPECT_EQ(p.storages[p.returns[1]].elements, 64);
  EXPECT_EQ(p.storages[p.returns[2]].elements, 1);  // a copy of the element
  EXPECT_EQ(traffic_of(p, p.thunks[0]).written, (40 + 10) * 4);
}

TEST(Library, SumsThatAreNotAskedForAreNoOperand) {
  const LoweredProgram p = lowered(dropped_attention(false, "%y, %l"));
  const LibraryCall* call = library_call(p, "y");
  ASSERT_TRUE(call);
  EXPECT_EQ(operand(*call, AttentionOperand::logsumexp), nullptr);
  EXPECT_EQ(std::get<AttentionSpec>(call->spec).sum_rows, 0);
  EXPECT_EQ(p.storages[p.returns[1]].elements, 0);
}

TEST(Library, AResultThatIsNeededIsWrittenUnread) {
  const LoweredProgram p = lowered(dropped_attention(true, "%l"));
  const LibraryCall* call = library_call(p, "y");
  ASSERT_TRUE(call);
  EXPECT_TRUE(operand(*call, AttentionOperand::out));
}

TEST(Library, AResultWithoutElementsIsMadeWithoutTheCall) {
  const LoweredProgram p = lowered(dropped_attention(false, "%l"));
  EXPECT_TRUE(p.thunks.empty());
  EXPECT_EQ(p.storages[p.returns[0]].elements, 0);
}

}  // namespace
}  // namespace cleave
