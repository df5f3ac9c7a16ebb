// Whether a GPU does what cleave asks of it: memory, a kernel compiled by NVRTC, faults, a graph of
// calls; then its rates. Not among those that `make bench` runs.
//
//   bench_device_smoke     prints a line for each, exit status 1 where one is wrong
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "backend/cuda/device.h"
#include "backend/cuda/libraries.h"
#include "backend/cuda/stream_graph.h"
#include "backend/make_backend.h"
#include "bench/timing.h"

namespace {

using namespace cleave;
using namespace cleave::cuda;

constexpr const char* text = R"(
extern "C" __global__ void add_one(const float *x, float *y, long long n, long long kernel,
                                   long long *fault) {
  if (*fault) return;
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
extern "C" __global__ void fail(long long kernel, long long *fault) {
  if (threadIdx.x == 7 && atomicCAS((unsigned long long *)fault, 0ull,
                                    (unsigned long long)(kernel << 32 | 1)) == 0) {
    fault[1] = 7;
    fault[2] = 5;
  }
}
)";

int wrong = 0;
void say(bool ok, const std::string& what) {
  std::printf("%-4s%s\n", ok ? "ok" : "--", what.c_str());
  wrong += !ok;
}

EmittedCode code_of(int64_t n) {
  EmittedCode out;
  out.units = {{.text = text}};
  out.kernels.resize(2);
  out.kernels[0].phases = {
      {.symbol = "add_one",
       .launch = {.blocks = (n + 255) / 256, .threads = 256, .buffers = {0, 1}, .scalars = {0}}}};
  out.kernels[1].phases = {{.symbol = "fail", .launch = {.blocks = 2, .threads = 32}}};
  out.kernels[1].checks = {{"index", true}};
  return out;
}

// Milliseconds of `f`, which is called `count` times, on the queue.
template <class F>
double milliseconds(const CudaDevicePtr& device, CUstream queue, int count, const F& f) {
  const Driver& d = device->driver();
  CUevent begin = nullptr, end = nullptr;
  d.cuEventCreate(&begin, 0);
  d.cuEventCreate(&end, 0);
  f();
  d.cuEventRecord(begin, queue);
  for (int k = 0; k < count; ++k) f();
  d.cuEventRecord(end, queue);
  d.cuEventSynchronize(end);
  float ms = 0;
  d.cuEventElapsedTime(&ms, begin, end);
  d.cuEventDestroy(begin);
  d.cuEventDestroy(end);
  return ms / count;
}

void print_rates(const CudaDevicePtr& device, ArenaMemory& arena, int64_t bytes) {
  const Driver& d = device->driver();
  auto* const queue = static_cast<CUstream>(arena.queue());
  const auto x = reinterpret_cast<CUdeviceptr>(arena.data());
  const CUdeviceptr y = x + static_cast<CUdeviceptr>(bytes);
  void* const host = value_or_throw(device->allocate_pinned(bytes));
  std::memset(host, 1, static_cast<size_t>(bytes));
  const auto size = static_cast<size_t>(bytes);
  const double mega = static_cast<double>(bytes) / 1e6;
  const double within =
      milliseconds(device, queue, 20, [&] { d.cuMemcpyDtoDAsync(y, x, size, queue); });
  const double in =
      milliseconds(device, queue, 5, [&] { d.cuMemcpyHtoDAsync(x, host, size, queue); });
  const double out =
      milliseconds(device, queue, 5, [&] { d.cuMemcpyDtoHAsync(host, x, size, queue); });
  std::printf(
      "    copies of %.0f MB: %.0f GB/s within (read and written), %.1f GB/s in, %.1f out\n", mega,
      2 * mega / within, mega / in, mega / out);
  device->free_pinned(host);
}

void check(const Target& target) {
  constexpr int64_t n = (int64_t{1} << 26) + 3, bytes = (4 * n + 255) / 256 * 256;
  const std::shared_ptr<Backend> backend = make_backend(target);
  value_or_throw(backend->check_runs_here());
  const CudaDevicePtr device = value_or_throw(CudaDevice::here());
  const Driver& d = device->driver();
  const auto threads = make_thread_pool(2);
  const auto began = bench::Clock::now();
  const BuiltCode built = value_or_throw(backend->build({}, code_of(n), *threads));
  const double build_ms = bench::ms_since(began);
  say(true, fmt::format("compiled and loaded in {:.0f} ms: {}", build_ms,
                        value_or_throw(backend->identity(nullptr))));
  const auto arena = value_or_throw(backend->make_arena(2 * bytes));
  arena->fill_pattern();
  say(arena->touched_bytes() == 0, "the arena keeps its pattern");

  auto* const queue = static_cast<CUstream>(arena->queue());
  std::vector<float> x(n), y(n);
  std::iota(x.begin(), x.end(), 0.f);
  void* const buffers[] = {arena->data(), arena->data() + bytes};
  const int64_t scalars[] = {n};
  const RunContext context{*threads, arena->queue(), arena->fault(), 3};
  const auto read = [&] {
    d.cuMemcpyDtoHAsync(y.data(), reinterpret_cast<CUdeviceptr>(buffers[1]), 4 * n, queue);
    return arena->finish();
  };
  const auto is_right = [&] {
    for (size_t i = 0; i < n; ++i)
      if (y[i] != x[i] + 1) return false;
    return true;
  };
  d.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(buffers[0]), x.data(), 4 * n, queue);
  built.kernels[0]->call(buffers, scalars, context);
  say(!read() && is_right(), fmt::format("y[i] = x[i] + 1 of {} elements", n));
  say(arena->touched_bytes() == (bytes + 4 * n + 63) / 64 * 64, "touched_bytes finds the last one");

  built.kernels[1]->call(nullptr, nullptr, context);
  const float before = y[0];
  x[0] = 41;
  d.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(buffers[0]), x.data(), 4, queue);
  built.kernels[0]->call(buffers, scalars, context);
  const auto fault = read();
  say(fault && fault->thunk == 3 && fault->check == 0 && fault->index == 7 && fault->bound == 5 &&
          y[0] == before,
      "a check that failed is told, and nothing is written after it");

  StreamGraph graph(device, static_cast<CUstream>(context.queue));
  value_or_throw(graph.begin(buffers));
  for (int k = 0; k < 2; ++k) built.kernels[0]->call(buffers, scalars, context);
  value_or_throw(graph.end());
  value_or_throw(graph.launch());
  say(!read() && is_right(), "the same as a graph");

  const double ms =
      milliseconds(device, queue, 20, [&] { built.kernels[0]->call(buffers, scalars, context); });
  std::printf("    y = x + 1: %.3f ms, %.0f GB/s\n", ms, 8e-6 * static_cast<double>(n) / ms);
  const int64_t one[] = {1};
  EmittedCode small = code_of(1);
  const BuiltCode tiny = value_or_throw(backend->build({}, small, *threads));
  const auto host = bench::Clock::now();
  constexpr int calls = 1000;
  const double each =
      milliseconds(device, queue, calls, [&] { tiny.kernels[0]->call(buffers, one, context); });
  const double host_ms = bench::ms_since(host);
  std::printf("    a small kernel: %.2f us each, %.2f us of the host\n", 1e3 * each,
              1e3 * host_ms / calls);
  value_or_throw(graph.begin(buffers));
  for (int k = 0; k < calls; ++k) tiny.kernels[0]->call(buffers, one, context);
  value_or_throw(graph.end());
  const double of_graph = milliseconds(device, queue, 10, [&] { value_or_throw(graph.launch()); });
  std::printf("    in a graph of %d: %.2f us each\n", calls, 1e3 * of_graph / calls);
  print_rates(device, *arena, bytes);
}

}  // namespace

int main() {
  for (const LibraryState& s : library_states())
    std::printf("%-4s%s: %s\n", s.is_there ? "ok" : "--", s.name.c_str(), s.found.c_str());
  try {
    check(Target::named("cuda"));
  } catch (const Error& e) { say(false, e.what()); }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
