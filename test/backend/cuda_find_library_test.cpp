// Where CUDA's libraries are found, and what is said of those that aren't.
// tests: find_library.cpp libraries.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/cuda/find_library.h"
#include "backend/cuda/libraries.h"
#include "test/backend/fake/fake_driver.h"

namespace cleave::cuda {
namespace {

namespace fs = std::filesystem;
using test::FakeState;

struct Folder {
  Folder() : path(fs::temp_directory_path() / fmt::format("cleave_cuda_{}", getpid())) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string in(const std::string& name) const { return (path / name).string(); }
  const fs::path path;
};

TEST(CudaLibraries, a_place_that_lacks_it_names_the_package) {
  const Folder folder;
  const LibraryPlaces places{.asks_system = false, .folders = {folder.path.string()}};
  const auto none = open_library({"libx.so.2", "libx.so.1"}, "pip install x", places);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(none.failure().message, "no libx.so.2 or libx.so.1 is found; pip install x");

  const auto nowhere = open_library({"libcleave_nowhere.so.9"}, "pip install x", {});
  EXPECT_EQ(nowhere.failure().message, "no libcleave_nowhere.so.9 is found; pip install x");

  std::ofstream(folder.in("libx.so.1")) << "no library";
  const auto broken = open_library({"libx.so.2", "libx.so.1"}, "pip install x", places);
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.failure().message.find(folder.in("libx.so.1")), std::string::npos)
      << broken.failure().message;
  EXPECT_TRUE(broken.failure().message.ends_with("; pip install x"));
}

TEST(CudaLibraries, folders_come_in_order) {
  const Folder folder;
  fs::create_directories(folder.in("second"));
  fs::copy(std::string(CLEAVE_FAKE_CUDA) + "/libcuda.so.1", folder.in("second/liby.so.1"));
  const LibraryPlaces places{.asks_system = false,
                             .folders = {folder.in("first"), folder.in("second")}};
  const OpenedLibrary library = value_or_throw(open_library({"liby.so.1"}, "", places));
  EXPECT_EQ(library.path, folder.in("second/liby.so.1"));
  EXPECT_NE(find_symbol(library, "cuInit"), nullptr);
  EXPECT_EQ(find_symbol(library, "cuNothing"), nullptr);
}

TEST(CudaLibraries, packages_of_pypi_lie_beside_python) {
  const Folder folder;
  const auto make = [&](const std::string& name) { fs::create_directories(folder.in(name)); };
  make("env/bin");
  make("env/lib/python3.11/site-packages/nvidia/cu13/lib");
  make("env/lib/python3.11/site-packages/nvidia/cudnn/include");
  make("pyenv/shims");
  make("pyenv/versions/3.12.1/lib/python3.12/site-packages/nvidia/cublas/lib");
  make("empty/bin");
  make("empty/lib/python3.11/site-packages/nvidia/cu13/lib");
  std::ofstream(folder.in("env/bin/python3"));
  std::ofstream(folder.in("pyenv/shims/python3"));
  const std::string before = std::getenv("PATH");
  setenv("PATH",
         fmt::format("{0}/env/bin::{0}/empty/bin:{0}/pyenv/shims", folder.path.string()).c_str(),
         1);
  std::vector<std::string> found = library_places().folders;
  setenv("PATH", before.c_str(), 1);
  std::erase_if(found, [&](const std::string& f) { return !f.starts_with(folder.path.string()); });
  EXPECT_EQ(
      found,
      (std::vector<std::string>{
          folder.in("env/lib/python3.11/site-packages/nvidia/cu13/lib"),
          folder.in("pyenv/versions/3.12.1/lib/python3.12/site-packages/nvidia/cublas/lib")}));
}

std::vector<std::string> names(const std::vector<LibraryState>& states) {
  std::vector<std::string> out;
  for (const LibraryState& s : states) out.push_back(s.name);
  return out;
}

TEST(CudaLibraries, states_name_what_is_there_and_what_is_missing) {
  const FakeState fake;
  const std::vector<LibraryState> states = library_states(test::fake_places());
  ASSERT_EQ(names(states), (std::vector<std::string>{"cuda driver", "nvrtc", "cublaslt", "cudnn"}));
  EXPECT_TRUE(states[0].is_there);
  EXPECT_EQ(states[0].found, fmt::format("CUDA 13.0, {}/libcuda.so.1; cuda:0 Fake H200, sm_90, 1.0 "
                                         "of 1.0 GiB free",
                                         CLEAVE_FAKE_CUDA));
  for (size_t k = 1; k < states.size(); ++k) {
    EXPECT_FALSE(states[k].is_there);
    EXPECT_NE(states[k].found.find("pip install nvidia-"), std::string::npos) << states[k].found;
  }
  fake->gpus = 0;
  EXPECT_FALSE(library_states(test::fake_places())[0].is_there);
  EXPECT_FALSE(library_states({.asks_system = false, .folders = {}})[0].is_there);
}

}  // namespace
}  // namespace cleave::cuda
