// Products with a matrix that was packed beforehand: the bits of the product with the matrix.
#include <gtest/gtest.h>

#include <cstring>

#include "cleave/cleave.h"
#include "runtime/gemm.h"
#include "test/targets.h"

namespace cleave::runtime {
namespace {

struct Scratch {  // aligned to 64
  explicit Scratch(int64_t bytes) : memory(DType::u8, {bytes}) {}
  HostTensor memory;
};

// b [k, n], row by row or column by column, in panels; sized exactly, so that sanitizers find reads
// beyond them.
HostTensor packed(const HostTensor& b, int64_t k, int64_t n, bool is_transposed) {
  const int64_t panels = (n + gemm_panel - 1) / gemm_panel;
  HostTensor out(DType::f32, {panels, k, gemm_panel});
  const float* from = b.data<float>();
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j)
      out.data<float>()[(j / gemm_panel * k + p) * gemm_panel + j % gemm_panel] =
          from[is_transposed ? j * k + p : p * n + j];
  return out;
}

HostTensor result(const GemmSpec& spec, const Target& target, const HostTensor& a,
                  const HostTensor& b, const HostTensor& c_in) {
  const auto gemm = value_or_throw(Gemm::make(spec, target));
  const Scratch scratch(gemm->scratch_bytes());
  HostTensor c(DType::f32, {spec.m, spec.n});
  const auto threads = make_thread_pool(2);
  gemm->run(a.data(), b.data(), spec.has_c_in ? c_in.data() : nullptr, c.data(),
            const_cast<void*>(scratch.memory.data()), *threads);
  return c;
}

TEST(GemmPacked, bits_are_those_of_the_matrix) {
  Generator rng(4);
  // Rows, columns, and k of one part, of several, and of more than a span of sums.
  const std::array<std::array<int64_t, 3>, 9> sizes = {{{1, 1, 1},
                                                        {2, 31, 5},
                                                        {3, 32, 7},
                                                        {17, 33, 40},
                                                        {64, 100, 300},
                                                        {5, 2100, 33},
                                                        {130, 70, 1000},
                                                        {3, 40, 30000},
                                                        {4, 64, 0}}};
  for (const Target& target : test::targets_here())
    for (const auto& [m, n, k] : sizes)
      for (const bool is_transposed : {false, true})
        for (const bool has_c_in : {false, true}) {
          SCOPED_TRACE(testing::Message() << test::name_of(target) << " " << m << " x " << k
                                          << " x " << n << " " << is_transposed << has_c_in);
          const HostTensor a = rng.normal({m, k}), b = rng.normal({k, n}), c_in = rng.normal({n});
          GemmSpec spec{.m = m, .n = n, .k = k, .a_row = k, .has_c_in = has_c_in};
          spec.b_row = is_transposed ? 1 : n, spec.b_col = is_transposed ? k : 1;
          if (n % 2 == 0) spec.alpha = 0.5, spec.beta = 2;
          const HostTensor want = result(spec, target, a, b, c_in);
          spec.b_packed = true;
          EXPECT_TRUE(
              result(spec, target, a, packed(b, k, n, is_transposed), c_in).same_bits(want));
        }
}

TEST(GemmPacked, what_no_operator_makes_is_a_bug) {
  for (const GemmSpec& spec :
       {GemmSpec{.dtype = DType::f64, .m = 1, .n = 1, .k = 1, .b_packed = true},
        GemmSpec{.batch = 2, .m = 1, .n = 1, .k = 1, .b_packed = true},
        GemmSpec{.m = 1, .n = 1, .k = 2, .b_is_nibbles = true, .b_packed = true},
        GemmSpec{.m = 1, .n = 1, .k = 1, .b_stored = DType::i8, .b_packed = true}}) {
    const auto made = Gemm::make(spec, Target::here());
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.failure().kind, ErrorKind::bug);
  }
}

}  // namespace
}  // namespace cleave::runtime
