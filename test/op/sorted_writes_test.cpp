// OrderedWrites sorted by position, as a GPU makes them: on the CPU and by the threads of a
// simulated GPU.
#include <gtest/gtest.h>

#include "compile/stages.h"
#include "test/sample/both_engines.h"
#include "test/sample/check_threads.h"

namespace cleave::test {
namespace {

const LowerChoices sorting = {.loops = {.many_threads = true}};

void check_sorted(const std::string& text, const Inputs& inputs, double tolerance) {
  SCOPED_TRACE(text);
  const Arrays want = value_or_throw(by_reference(text, inputs));
  const CompiledRun compiled = by_choices(text, inputs, sorting);
  ASSERT_TRUE(compiled.status.ok()) << compiled.status.failure().message;
  const Arrays& two = compiled.results;
  const Arrays bytecode = by_choices(text, inputs, sorting, CompilerChoice::none, 1).results;
  ASSERT_EQ(two.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(two[k].i, want[k].i);
    EXPECT_EQ(bytecode[k].i, want[k].i);
    ASSERT_EQ(two[k].f.size(), want[k].f.size());
    EXPECT_EQ(two[k].f, bytecode[k].f);
    for (size_t e = 0; e < want[k].f.size(); ++e)
      ASSERT_NEAR(two[k].f[e], want[k].f[e], tolerance) << "result " << k << ", element " << e;
  }
  StageOptions options;
  options.compiler = CompilerChoice::none;
  const auto kernels = value_or_throw(scheduled_kernels(
      parsed(text), core(), options, backend_with_choices(sorting, CompilerChoice::none)));
  EXPECT_EQ(random::check_threads(kernels, 1).wrong, "");
}

// What indices there are: all different, all equal, few in turns, runs that begin and end where
// pieces do, runs of all lengths.
std::vector<int64_t> indices(const std::string& kind, int64_t n, int64_t rows) {
  std::vector<int64_t> out;
  for (int64_t k = 0; k < n; ++k)
    out.push_back(kind == "different" ? (k * 7 + 3) % rows
                  : kind == "equal"   ? rows / 2
                  : kind == "turns"   ? k % 3
                  : kind == "pieces"  ? k / 16 % rows
                                      : (k * k + k / 5) % rows);
  return out;
}

TEST(SortedWrites, rows_of_a_table) {
  for (const int64_t n : {17, 64, 65, 200, 1031})
    for (const char* kind : {"different", "equal", "turns", "pieces", "mixed"})
      for (const char* type : {"f32", "bf16"}) {
        const std::string t = type;
        const std::string text = fmt::format(
            "graph @main(%i: input i64[{0}], %g: input {1}[{0},5]) {{\n"
            "  %y = embedding_dense_backward(%g, %i; num_weights=1100, padding_idx=4, "
            "scale_grad_by_freq=false)\n  return %y\n}}\n",
            n, t);
        Inputs in = {{"i", ints(DType::i64, {n}, indices(kind, n, 1100))},
                     {"g", scattered(t == "f32" ? DType::f32 : DType::bf16, {n, 5}, 3)}};
        check_sorted(text, in, t == "f32" ? 1e-4 : 4);
      }
}

TEST(SortedWrites, several_indices_and_types) {
  const int64_t n = 150;
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::i64, DType::u8, DType::boolean}) {
    const std::string_view t = name_of(dtype);
    const bool is_whole = !is_floating(dtype);
    const auto some = [&](std::vector<int64_t> shape, uint32_t seed) {
      Array a = scattered(DType::f64, shape, seed);
      Array out(dtype, shape);
      for (int64_t k = 0; k < out.numel(); ++k)
        if (is_whole)
          out.set_int(
              k, dtype == DType::boolean ? a.f[k] > 0 : static_cast<int64_t>(a.f[k] * 50) & 63);
        else
          out.set(k, round_to(dtype, a.f[k]));
      return out;
    };
    const std::string text = fmt::format(
        "graph @main(%x: input {1}[4,6,3], %i: input i64[{0}], %j: input i64[{0}], "
        "%v: input {1}[{0},6], %p: input i64[{0},3], %w: input {1}[{0},3], "
        "%z: input {1}[7,3]) {{\n"
        "  %a = index_put(%x, [%i, none, %j], %v; accumulate=true)\n"
        "  %b = index_put(%x, [%i, none, %j], %v)\n"
        "  %c = scatter_add(%z, %p, %w; dim=0)\n"
        "  %d = scatter(%z, %p, %w; dim=0)\n"
        "  return %a, %b, %c, %d\n}}\n",
        n, t);
    Array p(DType::i64, {n, 3});
    p.i = indices("mixed", n * 3, 7);
    Inputs in = {{"x", some({4, 6, 3}, 1)},
                 {"i", ints(DType::i64, {n}, indices("mixed", n, 4))},
                 {"j", ints(DType::i64, {n}, indices("turns", n, 3))},
                 {"v", some({n, 6}, 2)},
                 {"p", p},
                 {"w", some({n, 3}, 4)},
                 {"z", some({7, 3}, 5)}};
    in.at("i").i[3] = -1;
    check_sorted(text, in, dtype == DType::f16 ? .05 : 1e-5);
  }
}

// As a model has them: rows of sentences; around the number from which on writes are sorted.
TEST(SortedWrites, indices_of_two_dims) {
  for (const auto& [a, b] : {std::pair{4, 4}, {1, 17}, {3, 6}, {9, 40}}) {
    const std::string text = fmt::format(
        "graph @main(%i: input i32[{0},{1}], %g: input f32[{0},{1},6], %x: input f32[20,6]) {{\n"
        "  %y = embedding_dense_backward(%g, %i; num_weights=20, padding_idx=-1, "
        "scale_grad_by_freq=false)\n  %z = index_put(%x, [%i], %g)\n  return %y, %z\n}}\n",
        a, b);
    check_sorted(text,
                 {{"i", ints(DType::i32, {a, b}, indices("mixed", a * b, 20))},
                  {"g", scattered(DType::f32, {a, b, 6}, 1)},
                  {"x", scattered(DType::f32, {20, 6}, 2)}},
                 1e-5);
  }
}

TEST(SortedWrites, a_dim_in_the_middle) {
  const int64_t n = 90;
  const std::string text = fmt::format(
      "graph @main(%x: input f32[2,5,3], %i: input i64[{0}], %v: input f32[2,{0},3]) {{\n"
      "  %a = index_add(%x, %i, %v; dim=1, alpha=2.0)\n"
      "  return %a\n}}\n",
      n);
  check_sorted(text,
               {{"x", scattered(DType::f32, {2, 5, 3}, 1)},
                {"i", ints(DType::i64, {n}, indices("mixed", n, 5))},
                {"v", scattered(DType::f32, {2, n, 3}, 2)}},
               1e-5);
}

// A sum of 3008 ones and a large number, which f32 would lose.
TEST(SortedWrites, sums_are_rounded_once) {
  const int64_t n = 3009;
  Inputs in = {{"i", Array(DType::i64, {n})}, {"g", Array(DType::f32, {n, 1})}};
  for (int64_t k = 0; k < n; ++k) in.at("g").f[k] = k == 0 ? 134217728.0 : 1;
  const std::string text = fmt::format(
      "graph @main(%i: input i64[{0}], %g: input f32[{0},1]) {{\n"
      "  %y = embedding_dense_backward(%g, %i; num_weights=2, padding_idx=-1, "
      "scale_grad_by_freq=false)\n  return %y\n}}\n",
      n);
  check_sorted(text, in, 0);
}

}  // namespace
}  // namespace cleave::test
