#include "tool/doctor_checks.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <thread>

#include "ahead/link_library.h"
#include "backend/cuda/libraries.h"
#include "base/host_call.h"
#include "base/target.h"
#include "cache/disk_cache.h"
#include "cache/http.h"
#include "cleave/compiler.h"
#include "cleave/generator.h"
#include "runtime/compiler.h"
#include "tool/door_checks.h"
#include "tool/grouped.h"

namespace cleave::tool {
namespace {

DoctorCheck processor() {
  const Target here = Target::here();
  DoctorCheck out{"processor", here.set != InstructionSet::plain, std::string(here.text())};
  const std::string_view sets[] = {
      "Advanced SIMD", "no vectors beyond SSE4.2", "AVX2",
      "AVX-512",       "AVX-512 with bf16",        "AVX-512 with bf16, and AMX"};
  out.found += fmt::format(": {}", sets[static_cast<size_t>(here.set)]);
  if (!out.ok)
    out.cure =
        "products and attention are 4 to 16 times as slow as with AVX2: take a processor of "
        "x86-64-v3, or a virtual machine that shows its instructions";
  else if (here.set < InstructionSet::avx512bf16)
    out.cure = "products of bf16 are computed in f32: they save memory and no time here";
  return out;
}

// Whether it compiles, and what it compiled can be loaded and called.
DoctorCheck compiler(CompilerChoice choice, const char* name, const char* cure) {
  DoctorCheck out{name};
  const auto call = [&]() -> Status {
    CLEAVE_TRY(const auto made, runtime::make_compiler(choice, Target::here()));
    CLEAVE_TRY(const auto code,
               made->compile("int cleave_answer(int x) { return 6 * x; }", "unit"));
    const auto f = reinterpret_cast<int (*)(int)>(code->symbol("cleave_answer"));
    if (f == nullptr || f(7) != 42) return bug("what it compiled doesn't compute what it should");
    out.found = made->identity();  // then flags and features
    out.found = out.found.substr(0, std::min(out.found.find(" ["), out.found.find(" -")));
    return {};
  };
  const Status s = call();
  out.ok = s.ok();
  if (!s.ok()) {
    out.found = s.failure().message;
    out.cure = cure;
  }
  return out;
}

DoctorCheck linker() {
  const Status s = ahead::check_link_tools();
  if (s.ok()) return {"ahead of time", true, "`cleave build` finds what it links with"};
  return {"ahead of time", false, s.failure().message,
          "needed by `cleave build` alone: apt-get install g++ binutils"};
}

// Generated kernels, products and a convolution, each call against the oracle.
constexpr const char* small_network = R"(
graph @main(%x: input f32[2,3,9,9], %w: param f32[4,3,3,3], %p: param f32[49,17]) {
  %c = convolution(%x, %w; stride=[1,1], padding=[0,0], dilation=[1,1], transposed=false, )"
                                      R"(output_padding=[0,0], groups=1)
  %v = view(%c; size=[8,49])
  %g = gelu(%v)
  %m = mm(%g, %p)
  %h = _to_copy(%m; dtype=bf16)
  %t = permute(%h; dims=[1,0])
  %b = mm(%t, %h)
  %s = _softmax(%m; dim=1, half_to_float=false)
  %n = var(%s; dim=[1], keepdim=true)
  return %b, %n
})";

DoctorCheck kernels() {
  DoctorCheck out{"kernels"};
  const Result<int64_t> calls = host_call<int64_t>("", [] {
    const TracedGraph graph = TracedGraph::parse(small_network);
    Generator rng(1);
    HostTensors inputs = {rng.normal({2, 3, 9, 9}), rng.normal({4, 3, 3, 3}), rng.normal({49, 17})};
    const GraphCallable run = debug_nop()(graph, inputs);
    run(std::move(inputs));
    return std::ssize(graph.calls());
  });
  out.ok = calls.ok();
  if (out.ok) {
    out.found = fmt::format("{} calls compute what the oracle computes", *calls);
  } else {
    out.found = calls.failure().message;
    out.cure = "results are wrong or can't be had here: report this, with all that is shown";
  }
  return out;
}

// Cores that a container's quota leaves: of cgroup v2, "max 100000" or "150000 100000".
double quota() {
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string path = line.substr(3); !path.empty(); path.resize(path.rfind('/'))) {
      std::ifstream in("/sys/fs/cgroup" + path + "/cpu.max");
      double most = 0, period = 0;
      if (in >> most >> period && period > 0) return most / period;
    }
  }
  return 0;
}

DoctorCheck threads() {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  DoctorCheck out{"threads", true, fmt::format("{} by default, one for each core", cores)};
  const double allowed = quota();
  if (allowed == 0 || std::ceil(allowed) >= cores) return out;
  out.ok = false;
  out.found += fmt::format(", of which this container may use {:g}", allowed);
  out.cure = fmt::format("--threads {}: threads that wait for their share hold up the others",
                         std::max(1, static_cast<int>(allowed)));
  return out;
}

DoctorCheck cache(const Result<std::string>& folder) {
  DoctorCheck out{"cache"};
  const auto open = [&]() -> Status {
    CLEAVE_TRY(const std::string path, folder);
    CLEAVE_TRY(const auto disk, cache::DiskCache::open(path));
    const cache::Sweep all = disk->count();
    const cache::Counts totals = disk->totals();
    out.found = fmt::format("{}: {} entries, {} bytes; {} hits, {} misses, {} corrupt", path,
                            grouped(all.entries), grouped(all.bytes), grouped(totals.hits),
                            grouped(totals.misses), grouped(totals.corrupt));
    return {};
  };
  const Status s = open();
  out.ok = s.ok();
  if (s.ok()) return out;
  out.found = s.failure().message;
  out.cure =
      "programs are compiled anew in each process: give --cache DIR, XDG_CACHE_HOME or HOME, "
      "a folder of yours alone (chmod 700)";
  return out;
}

DoctorCheck remote_cache() {
  const auto http = cache::Http::open();
  if (http.ok()) return {"remote cache", true, "libcurl is there"};
  return {"remote cache", true, http.failure().message,
          "needed for a cache behind HTTP alone: apt-get install libcurl4"};
}

// What programs for GPUs need. Without a GPU nothing of it is missed.
const char* gpu_cure(std::string_view library) {
  if (library == "nvrtc") return "pip install nvidia-cuda-nvrtc";
  if (library == "cublaslt") return "pip install nvidia-cublas";
  if (library == "cudnn") return "pip install nvidia-cudnn-cu13";
  return "NVIDIA's driver, 570 or newer (doc/gpu.md)";
}

std::vector<DoctorCheck> gpu() {
  const std::vector<cuda::LibraryState> states = cuda::library_states();
  const bool has_gpu = states[0].is_there;
  std::vector<DoctorCheck> out;
  for (const cuda::LibraryState& s : states)
    out.push_back({s.name, s.is_there || !has_gpu, s.found,
                   s.is_there ? ""
                              : fmt::format("needed for programs on GPUs (--target cuda) alone: {}",
                                            gpu_cure(s.name))});
  return out;
}

DoctorCheck memory() {
  const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  const double free = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * page / (1 << 30);
  const double all = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * page / (1 << 30);
  DoctorCheck out{"memory", free >= 0.5, fmt::format("{:.1f} of {:.1f} GiB are free", free, all)};
  if (!out.ok) out.cure = "--budget BYTES recomputes values in place of keeping them";
  return out;
}

}  // namespace

std::vector<DoctorCheck> doctor_checks(const Result<std::string>& cache_folder) {
  std::vector<DoctorCheck> out = {
      processor(),
      threads(),
      memory(),
      compiler(
          CompilerChoice::clang, "clang",
          "kernels are compiled by cc, in ten times the time, or interpreted: keep "
          "libcleave_clang.so beside libcleave.so, and apt-get install libclang-cpp19 libllvm19"),
      compiler(
          CompilerChoice::cc, "cc",
          "needed where clang isn't, and by `cleave build`: apt-get install gcc libc6-dev, and let "
          "/tmp be writable and mounted without noexec"),
      kernels(),
      cache(cache_folder),
      remote_cache(),
      linker()};
  std::ranges::move(door_checks(), std::back_inserter(out));
  std::ranges::move(gpu(), std::back_inserter(out));
  return out;
}

}  // namespace cleave::tool
