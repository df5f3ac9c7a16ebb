// Which clang it was the last time: the identity holds while none of its files has changed.
#include "runtime/known_compiler.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/compiler.h"
#include "runtime/private_folder.h"

namespace cleave::runtime {
namespace {

TEST(KnownCompiler, is_what_was_remembered) {
  const auto made = make_clang_compiler(Target::here());
  if (!made.ok()) GTEST_SKIP() << made.failure().message;
  const std::string text = remembered_clang((*made)->identity());
  EXPECT_EQ(known_identity(text), (*made)->identity());
  for (const char* file : {"libcleave_clang", "libLLVM", "libclang"})
    EXPECT_NE(text.find(file), std::string::npos) << text;
  for (size_t end = 0; end < (*made)->identity().size(); ++end)
    EXPECT_EQ(known_identity(text.substr(0, end)), std::nullopt) << end;
}

TEST(KnownCompiler, is_unknown_once_a_file_has_changed) {
  const auto folder = value_or_throw(PrivateFolder::make(std::filesystem::temp_directory_path()));
  const std::string path = folder->path() + "/lib of a compiler";
  std::ofstream(path) << "one";
  const auto stamp = [&] {
    struct stat s{};
    EXPECT_EQ(stat(path.c_str(), &s), 0);
    return fmt::format("{} {}.{:09} {}", s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, path);
  };
  const std::string text = "cleave compiler 1\nclang 19\n" + stamp() + "\n";
  EXPECT_EQ(known_identity(text), "clang 19");
  const auto time = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, time + std::chrono::nanoseconds(1000));
  EXPECT_EQ(known_identity(text), std::nullopt);  // another time of change
  std::filesystem::last_write_time(path, time);
  EXPECT_EQ(known_identity(text), "clang 19");
  std::ofstream(path) << "three";
  std::filesystem::last_write_time(path, time);
  EXPECT_EQ(known_identity(text), std::nullopt);  // another size
  std::filesystem::remove(path);
  EXPECT_EQ(known_identity(text), std::nullopt);
  EXPECT_EQ(known_identity("cleave compiler 1\nclang 19\n"), std::nullopt);  // no file says so
}

TEST(KnownCompiler, another_target_has_another_key) {
  if (known_clang_key(Target::here()).empty()) GTEST_SKIP() << "no plug-in";
  EXPECT_EQ(known_clang_key(Target::here()), known_clang_key(Target::here()));
  EXPECT_NE(known_clang_key({InstructionSet::plain}), known_clang_key({InstructionSet::avx2}));
}

}  // namespace
}  // namespace cleave::runtime
