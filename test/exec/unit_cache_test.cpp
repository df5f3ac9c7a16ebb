// Compiled code that is kept in a folder: what is found again, and what is not.
// tests: backend/unit_loader.cpp
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cleave/cleave.h"
#include "test/random_inputs.h"
#include "test/targets.h"

namespace cleave {
namespace {

class UnitCache : public testing::Test {
 protected:
  UnitCache()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("cleave_unit_cache_{}", getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~UnitCache() override { std::filesystem::remove_all(folder_); }

  static Tensor f(const Tensor& x) { return tanh(x) * 2 + exp(x); }
  CompiledFunction compiled(CompileOptions options = {}) const {
    options.cache_dir = folder_.string();
    return compile(f, {{"x", DType::f32, {32}}}, options);
  }
  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> out;
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder_))
      if (e.is_regular_file() && e.path().parent_path() != folder_) out.push_back(e.path());
    return out;
  }
  const std::filesystem::path folder_;
};

HostTensor result_of(CompiledFunction& f) {
  HostTensor x(DType::f32, {32});
  for (int64_t i = 0; i < 32; ++i) x.set_number(i, 0.1 * static_cast<double>(i));
  f.run({x});
  return f.output(0);
}

TEST_F(UnitCache, equal_code_is_compiled_once) {
  CompiledFunction plain = compile(f, {{"x", DType::f32, {32}}});
  CompiledFunction first = compiled(), second = compiled();
  EXPECT_EQ(plain.report().cache, "bypass");
  EXPECT_EQ(plain.report().cache_reason, "off");
  EXPECT_EQ(first.report().cache, "miss");
  EXPECT_EQ(second.report().cache, "hit");
  EXPECT_TRUE(result_of(second).same_bits(result_of(first)));
  EXPECT_TRUE(result_of(second).same_bits(result_of(plain)));
  // The unit, the program; which clang it was.
  EXPECT_EQ(entries().size(), 2 + (CLEAVE_HAVE_CLANG ? 1u : 0u));
}

TEST_F(UnitCache, another_compiler_or_target_is_a_miss) {
  compiled();
  EXPECT_EQ(compiled({.target = test::levels().front()}).report().cache, "miss");
  EXPECT_EQ(compiled({.target = test::levels().front()}).report().cache, "hit");
  const bool is_another = CLEAVE_HAVE_CLANG;
  EXPECT_EQ(compiled({.compiler = CompilerChoice::cc}).report().cache, is_another ? "miss" : "hit");
  CompiledFunction cc = compiled({.compiler = CompilerChoice::cc});
  EXPECT_EQ(cc.report().cache, "hit");
  EXPECT_EQ(result_of(cc).numel(), 32);
  EXPECT_EQ(compiled().report().cache, "hit");
}

TEST_F(UnitCache, an_altered_entry_is_compiled_again) {
  CompiledFunction first = compiled();
  for (const auto& path : entries()) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) / 2));
    file.put('!');
  }
  CompiledFunction second = compiled(), third = compiled();
  EXPECT_EQ(second.report().cache, "miss");
  EXPECT_EQ(third.report().cache, "hit");
  EXPECT_TRUE(result_of(third).same_bits(result_of(first)));
}

TEST_F(UnitCache, a_folder_that_cannot_be_used_is_passed_by) {
  std::ofstream(folder_.string()) << "a file";
  CompiledFunction f = compiled();
  EXPECT_EQ(f.report().cache, "bypass");
  EXPECT_NE(f.report().cache_reason.find(folder_.string()), std::string::npos)
      << f.report().cache_reason;
  EXPECT_EQ(result_of(f).numel(), 32);
}

}  // namespace
}  // namespace cleave
