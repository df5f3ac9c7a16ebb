// A driver for tests, libcuda.so.1 without a GPU: the device's memory is the host's, each call runs
// at once, a launch is noted and runs a function of the test, if there is one of the kernel's name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cleave::test {

struct FakeLaunch {
  std::string function;
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
  const void* stream = nullptr;
  std::vector<uint64_t> arguments;  // where they are one range of bytes
};

struct FakeCuda {
  int version = 13000, arch = 90, gpus = 1;
  int max_threads = 1024;  // of a block, of all functions
  size_t total_bytes = size_t{1} << 30;

  std::map<const void*, size_t> memory, pinned;  // the blocks that are allocated, and their bytes
  int streams = 0, modules = 0, graphs = 0, events = 0;  // that are there
  int waits = 0, graph_launches = 0, joins = 0;
  const void* last_joined = nullptr;          // the stream that waits for an event
  std::vector<std::pair<char, void*>> marks;  // r: an event on a stream; w: a stream waits for one
  const void* last_stream = nullptr;          // of a copy, a launch or a wait
  std::vector<FakeLaunch> launches;
  std::map<std::string, int> shared_bytes;  // that a function was allowed, by its name

  // By the kernel's name.
  std::map<std::string, std::function<void(const FakeLaunch&)>> kernels;
  // What a function of the driver returns in place of its work: {"cuMemAlloc_v2", 700}.
  std::map<std::string, int> failures;

  size_t used_bytes() const {
    size_t sum = 0;
    for (const auto& [at, bytes] : memory) sum += bytes;
    return sum;
  }
};

// What dlsym finds as "fake_cuda".
using FakeCudaFunction = FakeCuda*();

}  // namespace cleave::test
