// Kernels that differ only in numbers share functions: which numbers become arguments.
#include "emit/share_functions.h"

#include <gtest/gtest.h>

#include <bit>

namespace cleave::emit {
namespace {

CKernel kernel(const std::string& symbol, const std::string& body, size_t scalars = 0) {
  return {"\nint64_t " + symbol +
              "_0(void *const *buffer, const int64_t *scalar, int64_t begin, int64_t end,\n"
              "            int64_t *fault) {\n"
              "  (void)buffer, (void)scalar, (void)begin, (void)end, (void)fault;\n" +
              body + "  return 0;\n}\n",
          {{symbol + "_0", 1}},
          {},
          scalars};
}

std::string rows(const std::string& name, const std::string& extent, const std::string& divisor) {
  return "  const float *restrict " + name + "_ = buffer[0];\n" +
         "  for (int64_t p0 = begin; p0 < end; ++p0) {\n"
         "    for (int64_t r1 = 0; r1 < " +
         extent +
         "; r1 += 16) {\n"
         "      put_f32x16(" +
         name + "_ + ((p0 * " + extent +
         ") + r1), zero);\n"
         "    }\n"
         "    " +
         name + "_[p0] = (s / " + divisor +
         ");\n"
         "  }\n";
}

TEST(ShareFunctions, NumbersThatDifferBecomeScalarsAfterTheKernelsOwn) {
  std::vector<CKernel> k = {kernel("a", rows("x", "256", "2048.0f"), 1),
                            kernel("b", rows("other", "64", "0.1f"), 1)};
  const auto arguments = share_functions(k);
  EXPECT_EQ(arguments[0], (std::vector<int64_t>{256, std::bit_cast<uint32_t>(2048.0f)}));
  EXPECT_EQ(arguments[1], (std::vector<int64_t>{64, std::bit_cast<uint32_t>(0.1f)}));
  EXPECT_EQ(k[1].text, "");
  EXPECT_EQ(k[1].phases[0].symbol, "a_0");
  EXPECT_NE(k[0].text.find("  const int64_t number0 = scalar[1];  // 256, 64\n"
                           "  const float number1 = bits_f32((uint32_t)scalar[2]);  // 2048.0f, "
                           "0.1f\n"),
            std::string::npos);
  EXPECT_NE(k[0].text.find("r1 < number0; r1 += 16"), std::string::npos);
  EXPECT_NE(k[0].text.find("x_ + ((p0 * number0) + r1)"), std::string::npos);
  EXPECT_NE(k[0].text.find("(s / number1)"), std::string::npos);
}

TEST(ShareFunctions, EqualKernelsShareWithoutArguments) {
  std::vector<CKernel> k = {kernel("a", rows("x", "256", "7.0f")),
                            kernel("b", rows("y", "256", "7.0f"))};
  const std::string text = k[0].text;
  const auto arguments = share_functions(k);
  EXPECT_EQ(k[0].text, text);
  EXPECT_EQ(k[1].text, "");
  EXPECT_TRUE(arguments[0].empty() && arguments[1].empty());
}

TEST(ShareFunctions, OnlyThePhaseThatUsesAnArgumentReadsIt) {
  const std::string same = "  for (int64_t p0 = begin; p0 < end; ++p0) {\n  }\n";
  std::vector<CKernel> k;
  for (const char* number : {"256", "64"}) {
    CKernel one = kernel("k" + std::string(number), same);
    CKernel two = kernel("k" + std::string(number) + "_1", rows("x", number, "3.0f"));
    one.text += two.text;
    one.phases.push_back(two.phases[0]);
    k.push_back(one);
  }
  share_functions(k);
  EXPECT_EQ(k[1].text, "");
  const size_t at = k[0].text.find("number0 = ");
  EXPECT_GT(at, k[0].text.find("return 0;"));
  EXPECT_EQ(k[0].text.find("number0 = ", at + 1), std::string::npos);
}

// Each pair differs in a number that isn't made an argument.
TEST(ShareFunctions, NumbersThatTheCompilerNeedsStay) {
  const auto line = [](const std::string& text) {
    return "  for (int64_t p0 = begin; p0 < end; ++p0) {\n    " + text + "\n  }\n";
  };
  const std::pair<const char*, const char*> pairs[] = {
      {"const int64_t i1 = (p0 % 128);", "const int64_t i1 = (p0 % 256);"},
      {"const f32x16 c0 = strided_f32x16(x_ + p0, 4);",
       "const f32x16 c0 = strided_f32x16(x_ + p0, 8);"},
      {"const int64_t i1 = (p0 << 4);", "const int64_t i1 = (p0 << 5);"},
      {"float row_[128];", "float row_[256];"},
      {"const int32_t i1 = (x * 128);", "const int32_t i1 = (x * 256);"},
      {"const int i1 = (p0 < 128);", "const int i1 = (p0 < 256);"},
      {"for (int64_t i = 0; i < 3; ++i) {}", "for (int64_t i = 0; i < 4; ++i) {}"},
      {"const int64_t i1 = (p0 * 1);", "const int64_t i1 = (p0 * 256);"},
      {"const double y = (x * 128.0);", "const double y = (x * 256.0);"},
      {"const float y = powf(x, 2.5f);", "const float y = fmodf(x, 2.5f);"},
      {"const f32x16 y = z;", "const i32x16 y = z;"},
  };
  for (const auto& [a, b] : pairs) {
    std::vector<CKernel> k = {kernel("a", line(a)), kernel("b", line(b))};
    const auto arguments = share_functions(k);
    EXPECT_NE(k[1].text, "") << a;
    EXPECT_TRUE(arguments[0].empty()) << a;
  }
}

// i32 arithmetic on a name that was declared before.
TEST(ShareFunctions, NumbersBesideNarrowNamesStay) {
  const auto body = [](const std::string& number) {
    return "  const int32_t *restrict x_ = buffer[0];\n"
           "  for (int64_t p0 = begin; p0 < end; ++p0) {\n    y = ((x_[p0] * " +
           number + ") < 5);\n  }\n";
  };
  std::vector<CKernel> k = {kernel("a", body("128")), kernel("b", body("256"))};
  share_functions(k);
  EXPECT_NE(k[1].text, "");
}

TEST(ShareFunctions, AnArgumentsNameIsNoOtherName) {
  const auto body = [](const std::string& number) {
    return "  const int64_t number0 = begin;\n" + rows("x", number, "3.0f");
  };
  std::vector<CKernel> k = {kernel("a", body("128")), kernel("b", body("256"))};
  share_functions(k);
  EXPECT_NE(k[0].text.find("const int64_t number_0 = scalar[0];"), std::string::npos);
}

}  // namespace
}  // namespace cleave::emit
