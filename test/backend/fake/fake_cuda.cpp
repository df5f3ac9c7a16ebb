#include "test/backend/fake/fake_cuda.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

using cleave::test::FakeCuda;
using cleave::test::FakeLaunch;
using Address = uint64_t;

constexpr int invalid_value = 1, out_of_memory = 2, not_found = 500, capture_unsupported = 900,
              capture_unjoined = 904;

FakeCuda state;

struct Function {
  std::string name;
};
struct Module {
  std::string image;
  std::vector<Function*> functions;
};
struct Stream {
  bool is_capturing = false, is_invalid = false;
  std::vector<std::function<void()>> noted;
  // A stream that is noted with another one, since it has waited for that; calls, and how many of
  // them are waited for.
  Stream* home = nullptr;
  std::vector<Stream*> lanes;
  int calls = 0, joined = 0;
};
struct Event {
  Stream* stream = nullptr;  // null: of one that wasn't noted
  int calls = 0;
};
using Graph = std::vector<std::function<void()>>;

int failure(const char* name) {
  const auto at = state.failures.find(name);
  return at == state.failures.end() ? 0 : at->second;
}

// The block that a range lies in; false: it is in none.
bool is_allocated(Address address, size_t bytes) {
  for (const auto& [at, size] : state.memory) {
    const auto begin = reinterpret_cast<Address>(at);
    if (address >= begin && address + bytes <= begin + size) return true;
  }
  return false;
}

// Runs, or is noted.
template <class F>
int queue(void* stream, F f) {
  state.last_stream = stream;
  auto* s = static_cast<Stream*>(stream);
  if (s != nullptr && s->is_capturing) {
    ++s->calls;
    (s->home != nullptr ? s->home : s)->noted.push_back(std::move(f));
  } else {
    f();
  }
  return 0;
}

std::string image_of(const void* data) {
  const auto* bytes = static_cast<const char*>(data);
  if (std::strncmp(bytes, ELFMAG, SELFMAG) != 0) return bytes;
  Elf64_Ehdr head;
  std::memcpy(&head, bytes, sizeof(head));
  return {bytes, head.e_shoff + size_t{head.e_shnum} * head.e_shentsize};
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))
#define FAIL_IF_ASKED \
  if (const int code = failure(__func__); code != 0) return code

FAKE FakeCuda* fake_cuda() { return &state; }

FAKE int cuInit(unsigned) {
  FAIL_IF_ASKED;
  return 0;
}
FAKE int cuDriverGetVersion(int* out) {
  *out = state.version;
  return 0;
}
FAKE int cuGetErrorName(int code, const char** out) {
  *out = code == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_TEST";
  return 0;
}
FAKE int cuGetErrorString(int code, const char** out) {
  *out = code == out_of_memory ? "out of memory" : "what the test asked for";
  return 0;
}
// NVRTC asks for one.
FAKE int cuGetExportTable(const void** out, const void*) {
  *out = nullptr;
  return not_found;
}
FAKE int cuDeviceGetCount(int* out) {
  *out = state.gpus;
  return 0;
}
FAKE int cuDeviceGet(int* out, int index) {
  if (index >= state.gpus) return invalid_value;
  *out = index;
  return 0;
}
FAKE int cuDeviceGetName(char* out, int size, int) {
  std::strncpy(out, "Fake H200", static_cast<size_t>(size));
  return 0;
}
FAKE int cuDeviceTotalMem_v2(size_t* out, int) {
  *out = state.total_bytes;
  return 0;
}
FAKE int cuDeviceGetAttribute(int* out, int attribute, int) {
  *out = attribute == 75   ? state.arch / 10
         : attribute == 76 ? state.arch % 10
         : attribute == 97 ? 227 << 10
                           : 132;
  return 0;
}
FAKE int cuDevicePrimaryCtxRetain(void** out, int) {
  FAIL_IF_ASKED;
  *out = &state;
  return 0;
}
FAKE int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
FAKE int cuCtxSetCurrent(void* context) { return context == &state ? 0 : invalid_value; }

FAKE int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = state.total_bytes;
  *free = state.total_bytes - state.used_bytes();
  return 0;
}
FAKE int cuMemAlloc_v2(Address* out, size_t bytes) {
  FAIL_IF_ASKED;
  if (bytes == 0) return invalid_value;
  if (bytes > state.total_bytes - state.used_bytes()) return out_of_memory;
  void* block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(block, 0x5a, bytes);
  state.memory[block] = bytes;
  *out = reinterpret_cast<Address>(block);
  return 0;
}
FAKE int cuMemFree_v2(Address block) {
  if (state.memory.erase(reinterpret_cast<void*>(block)) == 0) return invalid_value;
  std::free(reinterpret_cast<void*>(block));
  return 0;
}
FAKE int cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  FAIL_IF_ASKED;
  *out = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  state.pinned[*out] = bytes;
  return 0;
}
FAKE int cuMemFreeHost(void* block) {
  if (state.pinned.erase(block) == 0) return invalid_value;
  std::free(block);
  return 0;
}

FAKE int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void* stream) {
  FAIL_IF_ASKED;
  if (!is_allocated(to, bytes)) return invalid_value;
  return queue(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
FAKE int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void* stream) {
  FAIL_IF_ASKED;
  if (!is_allocated(from, bytes)) return invalid_value;
  return queue(stream, [=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
}
FAKE int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void* stream) {
  FAIL_IF_ASKED;
  if (!is_allocated(from, bytes) || !is_allocated(to, bytes)) return invalid_value;
  return queue(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  });
}
FAKE int cuMemsetD8Async(Address to, unsigned char byte, size_t bytes, void* stream) {
  FAIL_IF_ASKED;
  if (bytes == 0 || !is_allocated(to, bytes)) return invalid_value;
  return queue(stream, [=] { std::memset(reinterpret_cast<void*>(to), byte, bytes); });
}

FAKE int cuStreamCreate(void** out, unsigned) {
  FAIL_IF_ASKED;
  *out = new Stream;
  ++state.streams;
  return 0;
}
FAKE int cuStreamDestroy_v2(void* stream) {
  delete static_cast<Stream*>(stream);
  --state.streams;
  return 0;
}
FAKE int cuStreamSynchronize(void* stream) {
  FAIL_IF_ASKED;
  auto* s = static_cast<Stream*>(stream);
  if (s != nullptr && s->is_capturing) {
    s->is_invalid = true;
    return capture_unsupported;
  }
  state.last_stream = stream;
  ++state.waits;
  return 0;
}
FAKE int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  auto* s = static_cast<Stream*>(stream);
  const auto& e = *static_cast<Event*>(event);
  if (e.stream != nullptr && e.stream->is_capturing) {
    if (!s->is_capturing) {
      Stream* const home = e.stream->home != nullptr ? e.stream->home : e.stream;
      *s = {.is_capturing = true, .noted = {}, .home = home, .lanes = {}};
      home->lanes.push_back(s);
    }
    e.stream->joined = std::max(e.stream->joined, e.calls);
  }
  state.last_joined = stream;
  state.marks.emplace_back('w', stream);
  ++state.joins;
  return 0;
}
FAKE int cuEventCreate(void** out, unsigned) {
  *out = new Event;
  ++state.events;
  return 0;
}
FAKE int cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  --state.events;
  return 0;
}
FAKE int cuEventRecord(void* event, void* stream) {
  auto* s = static_cast<Stream*>(stream);
  *static_cast<Event*>(event) = s->is_capturing ? Event{s, s->calls} : Event{};
  state.marks.emplace_back('r', stream);
  return 0;
}
FAKE int cuEventSynchronize(void*) { return 0; }
FAKE int cuEventElapsedTime(float* ms, void*, void*) {
  *ms = 1;
  return 0;
}

FAKE int cuLaunchHostFunc(void*, void (*call)(void*), void* data) {
  call(data);
  return 0;
}
FAKE int cuModuleLoadData(void** out, const void* image) {
  FAIL_IF_ASKED;
  *out = new Module{image_of(image), {}};
  ++state.modules;
  return 0;
}
FAKE int cuModuleUnload(void* module) {
  auto* m = static_cast<Module*>(module);
  for (Function* f : m->functions) delete f;
  delete m;
  --state.modules;
  return 0;
}
FAKE int cuModuleGetFunction(void** out, void* module, const char* name) {
  auto* m = static_cast<Module*>(module);
  if (m->image.find(name) == std::string::npos) return not_found;
  *out = m->functions.emplace_back(new Function{name});
  return 0;
}
FAKE int cuFuncGetAttribute(int* out, int attribute, void*) {
  *out = state.max_threads;
  return attribute == 0 ? 0 : invalid_value;
}
FAKE int cuFuncSetAttribute(void* function, int attribute, int value) {
  FAIL_IF_ASKED;
  if (attribute != 8 || value > 227 << 10) return invalid_value;
  state.shared_bytes[static_cast<Function*>(function)->name] = value;
  return 0;
}
FAKE int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads,
                        unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void* stream,
                        void** arguments, void** extra) {
  FAIL_IF_ASKED;
  const bool is_packed = extra != nullptr && extra[0] == reinterpret_cast<void*>(1) &&
                         extra[2] == reinterpret_cast<void*>(2) && extra[4] == nullptr;
  if (x == 0 || y != 1 || z != 1 || threads == 0 || threads_y != 1 || threads_z != 1 ||
      is_packed == (arguments != nullptr))
    return invalid_value;
  FakeLaunch launch{static_cast<Function*>(function)->name, x, threads, shared_bytes, stream, {}};
  if (is_packed) {
    launch.arguments.resize(*static_cast<size_t*>(extra[3]) / 8);
    std::memcpy(launch.arguments.data(), extra[1], 8 * launch.arguments.size());
  }
  return queue(stream, [launch] {
    state.launches.push_back(launch);
    if (const auto at = state.kernels.find(launch.function); at != state.kernels.end())
      at->second(launch);
  });
}

FAKE int cuStreamBeginCapture_v2(void* stream, int mode) {
  FAIL_IF_ASKED;
  auto* s = static_cast<Stream*>(stream);
  if (mode != 1 || s->is_capturing) return invalid_value;
  *s = {.is_capturing = true, .noted = {}, .lanes = {}};
  return 0;
}
FAKE int cuStreamEndCapture(void* stream, void** graph) {
  auto* s = static_cast<Stream*>(stream);
  const bool is_invalid = s->is_invalid;
  bool is_unjoined = false;
  for (Stream* const lane : s->lanes) {
    is_unjoined |= lane->joined < lane->calls;
    *lane = {};
  }
  *graph = nullptr;
  if (is_unjoined) return capture_unjoined;
  if (!is_invalid) {
    *graph = new Graph(std::move(s->noted));
    ++state.graphs;
  }
  *s = {};
  return is_invalid ? capture_unsupported : 0;
}
FAKE int cuGraphInstantiateWithFlags(void** out, void* graph, uint64_t) {
  *out = graph;  // of no meaning where it fails
  FAIL_IF_ASKED;
  *out = new Graph(*static_cast<Graph*>(graph));
  ++state.graphs;
  return 0;
}
FAKE int cuGraphLaunch(void* graph, void*) {
  FAIL_IF_ASKED;
  for (const auto& f : *static_cast<Graph*>(graph)) f();
  ++state.graph_launches;
  return 0;
}
FAKE int cuGraphExecDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  --state.graphs;
  return 0;
}
FAKE int cuGraphDestroy(void* graph) { return cuGraphExecDestroy(graph); }
