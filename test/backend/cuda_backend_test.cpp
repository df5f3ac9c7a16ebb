// The backend of GPUs where there is none: units are compiled, kept and loaded, kernels launched,
// by a driver and a compiler without one.
// tests: cubin_loader.cpp unit_key.cpp
#include "backend/cuda/cuda_backend.h"

#include <gtest/gtest.h>

#include "backend/make_backend.h"
#include "base/target.h"
#include "cache/memory_cache.h"
#include "test/backend/fake/fake_driver.h"

namespace cleave::cuda {
namespace {

using test::FakeLaunch;
using test::FakeState;

Result<NvrtcPtr> fake_compiler() {
  return Nvrtc::open({.asks_system = false, .folders = {CLEAVE_FAKE_NVRTC}});
}
Result<CudaDevicePtr> opened_device(int index) {
  return CudaDevice::open(test::fake_driver(), index);
}
Result<CudaDevicePtr> no_device(int) { return unsupported("no driver"); }

CudaBackend backend_of(const char* target, Result<CudaDevicePtr> (*device)(int) = opened_device) {
  return CudaBackend(Target::named(target), 0, {.device = device, .compiler = fake_compiler});
}

// Kernel 1 adds 1 to its elements in two blocks; kernel 0 has nothing to do.
EmittedCode added_one() {
  EmittedCode out;
  out.units = {{.text = "empty"}, {.text = "add_one"}};
  out.kernels.resize(2);
  out.kernels[1].unit = 1;
  out.kernels[1].phases = {
      {.symbol = "add_one",
       .launch = {.blocks = 2, .threads = 4, .buffers = {0, 1}, .scalars = {0}}}};
  out.kernels[1].checks = {{"a check", true}};
  return out;
}

void run_add_one(const FakeLaunch& l) {
  const auto* x = reinterpret_cast<const float*>(l.arguments[0]);
  auto* y = reinterpret_cast<float*>(l.arguments[1]);
  for (unsigned i = 0; i < l.blocks * l.threads; ++i) y[i] = x[i] + 1;
}

TEST(CudaBackend, is_made_for_its_targets) {
  const auto made = make_backend(Target::named("sm_90"));
  EXPECT_NE(dynamic_cast<CudaBackend*>(made.get()), nullptr);
  EXPECT_EQ(made->target().cuda_arch, 90);
  EXPECT_FALSE(made->interprets());
  EXPECT_EQ(made->rates(), common_rates(Target::named("sm_90")));
  EXPECT_EQ(dynamic_cast<CudaBackend*>(make_backend(Target::here()).get()), nullptr);
}

// Of programs for a device of a processor's target, too.
TEST(CudaBackend, is_deterministic_as_the_target) {
  using enum CompilerChoice;
  for (const bool is_deterministic : {true, false})
    for (const char* word : {"sm_90", "x86-64-v3"}) {
      Target target = Target::named(word);
      target.is_deterministic = is_deterministic;
      EXPECT_EQ(make_backend(target, automatic, Device::cuda(0))->target().is_deterministic,
                is_deterministic);
    }
  const auto identity = [](bool is_deterministic) {
    Target target = Target::named("sm_90");
    target.is_deterministic = is_deterministic;
    return value_or_throw(
        CudaBackend(target, 0, {.device = opened_device, .compiler = fake_compiler})
            .identity(nullptr));
  };
  EXPECT_NE(identity(true), identity(false));
  // The gradient of scores lies in the workspace, or the sums of dquery do.
  const AttentionBackwardSpec s = [] {
    const HeadStrides at{.batch = 8 * 512 * 64, .head = 512 * 64, .row = 64, .column = 1};
    AttentionSpec f{.dtype = DType::bf16,
                    .batch = 2,
                    .heads = 8,
                    .rows = 512,
                    .columns = 512,
                    .width = 64,
                    .value_width = 64};
    f.query = f.key = f.value = f.out = at, f.sum_rows = 512;
    return AttentionBackwardSpec{.forward = f, .dout = at, .dquery = at, .dkey = at, .dvalue = at};
  }();
  const auto scratch_bytes = [&](bool is_deterministic) {
    Target target = Target::named("sm_90");
    target.is_deterministic = is_deterministic;
    return value_or_throw(make_backend(target)->library(s))->scratch_bytes();
  };
  const int64_t delta = 2 * 8 * 512 * 4;
  EXPECT_EQ(scratch_bytes(true), (1 << 20) + 2 * 8 * 512 * 512 * 2 + delta);
  EXPECT_EQ(scratch_bytes(false), (1 << 20) + delta * 64 + delta);
}

TEST(CudaBackend, builds_kernels_that_run) {
  const FakeState fake;
  fake->kernels["add_one"] = run_add_one;
  CudaBackend backend = backend_of("sm_90");
  ASSERT_TRUE(backend.check_runs_here().ok());
  const auto threads = make_thread_pool(2);
  const BuiltCode built = value_or_throw(backend.build({}, added_one(), *threads, nullptr));
  EXPECT_EQ(built.compiled_units, 2);
  EXPECT_EQ(built.cached_units, 0);
  EXPECT_EQ(built.unit_keys, (std::vector<std::string>{"", ""}));
  ASSERT_EQ(built.kernels.size(), 2u);
  const auto arena = value_or_throw(backend.make_arena(64));
  auto* x = reinterpret_cast<float*>(arena->data());
  for (int i = 0; i < 8; ++i) x[i] = static_cast<float>(i);
  void* buffers[] = {x, x + 8};
  const int64_t scalars[] = {8};
  const RunContext context{*threads, arena->queue(), arena->fault(), 1};
  EXPECT_FALSE(built.kernels[0]->call(nullptr, nullptr, context));
  EXPECT_FALSE(built.kernels[1]->call(buffers, scalars, context));
  EXPECT_FALSE(arena->finish());
  for (int i = 0; i < 8; ++i) EXPECT_EQ(x[8 + i], x[i] + 1);
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_EQ(fake->launches[0].arguments[3], 1u);  // the call's number
}

TEST(CudaBackend, has_the_memory_of_its_device) {
  const FakeState fake;
  fake->gpus = 2;
  const CudaBackend backend(Target::named("sm_90"), 1,
                            {.device = opened_device, .compiler = fake_compiler});
  EXPECT_EQ(backend.device(), Device::cuda(1));
  const std::shared_ptr<DeviceMemory> memory = backend.device_memory();
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->device(), Device::cuda(1));
}

TEST(CudaBackend, keeps_units_in_a_cache) {
  const FakeState fake;
  cache::MemoryCache cache(1 << 20);
  const auto threads = make_thread_pool(1);
  CudaBackend backend = backend_of("sm_90");
  const BuiltCode first = value_or_throw(backend.build({}, added_one(), *threads, &cache));
  EXPECT_EQ(first.compiled_units, 2);
  const BuiltCode second = value_or_throw(backend.build({}, added_one(), *threads, &cache));
  EXPECT_EQ(second.compiled_units, 0);
  EXPECT_EQ(second.cached_units, 2);
  EXPECT_EQ(second.unit_keys, first.unit_keys);
  EXPECT_NE(first.unit_keys[0], first.unit_keys[1]);

  EmittedCode kept = added_one();  // of a program that was kept
  for (size_t k = 0; k < 2; ++k) kept.units[k] = {.text = "", .key = first.unit_keys[k]};
  EXPECT_EQ(value_or_throw(backend.build({}, kept, *threads, &cache)).cached_units, 2);
  cache::MemoryCache empty(1 << 20);
  EXPECT_EQ(backend.build({}, kept, *threads, &empty).failure().message,
            "unit0: the cache has no unit " + first.unit_keys[0]);

  CudaBackend other = backend_of("sm_100");
  EXPECT_EQ(value_or_throw(other.build({}, added_one(), *threads, &cache)).compiled_units, 2);

  EmittedCode shared = added_one();  // of a program that is built by the same backend
  for (size_t k = 0; k < 2; ++k) shared.units[k].loaded = first.units[k];
  const BuiltCode third = value_or_throw(backend.build({}, shared, *threads, nullptr));
  EXPECT_EQ(third.units, first.units);
  EXPECT_EQ(third.compiled_units + third.cached_units, 0);
}

TEST(CudaBackend, builds_where_there_is_no_gpu_and_runs_nothing) {
  const auto threads = make_thread_pool(1);
  CudaBackend backend = backend_of("sm_90", no_device);
  const BuiltCode built = value_or_throw(backend.build({}, added_one(), *threads, nullptr));
  ASSERT_EQ(built.kernels.size(), 2u);
  EXPECT_THROW(built.kernels[1]->call(nullptr, nullptr, {*threads}), Error);
  const Status here = backend.check_runs_here();
  ASSERT_FALSE(here.ok());
  EXPECT_EQ(here.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(here.failure().message,
            "target sm_90: no driver; a program for it can be planned and compiled here, not run");
  EXPECT_EQ(backend.make_arena(64).failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(backend.device_memory(), nullptr);
}

TEST(CudaBackend, what_does_not_compile_names_its_unit) {
  const auto threads = make_thread_pool(1);
  CudaBackend backend = backend_of("sm_90", no_device);
  EmittedCode code = added_one();
  code.units[1].text = "#error";
  const auto built = backend.build({}, code, *threads, nullptr);
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.failure().message, "nvrtc 13.0 can't compile unit1:\nunit1.cu(1): error");
  CudaBackend old = backend_of("sm_80", no_device);
  EXPECT_EQ(old.build({}, added_one(), *threads, nullptr).failure().kind, ErrorKind::unsupported);
}

TEST(CudaBackend, runs_code_of_its_architecture_alone) {
  const FakeState fake;
  fake->arch = 89;
  EXPECT_TRUE(backend_of("sm_86").check_runs_here().ok());
  EXPECT_TRUE(backend_of("sm_89").check_runs_here().ok());
  const Status newer = backend_of("sm_90").check_runs_here();
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.failure().message,
            "target sm_90: this machine's Fake H200 is an sm_89; a program for it can be planned "
            "and compiled here, not run");
  fake->arch = 86;
  EXPECT_FALSE(backend_of("sm_89").check_runs_here().ok());
  fake->arch = 100;
  CudaBackend older = backend_of("sm_90");
  EXPECT_FALSE(older.check_runs_here().ok());
  const int modules = fake->modules;
  const auto threads = make_thread_pool(1);
  const BuiltCode built = value_or_throw(older.build({}, added_one(), *threads, nullptr));
  EXPECT_EQ(fake->modules, modules);  // compiled, and not loaded
  fake->arch = 90;
  fake->version = 12040;
  const Status old = backend_of("sm_90").check_runs_here();
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.failure().kind, ErrorKind::unsupported);
  EXPECT_NE(old.failure().message.find("is newer than the driver, which runs code of CUDA 12.4 at "
                                       "most: update the driver, or pip install "
                                       "nvidia-cuda-nvrtc-cu12"),
            std::string::npos)
      << old.failure().message;
}

TEST(CudaBackend, programs_depend_on_target_rates_and_compiler) {
  const auto identity = [](Target target) {
    return value_or_throw(
        CudaBackend(target, 0, {.device = no_device, .compiler = fake_compiler}).identity(nullptr));
  };
  const Target plain = Target::named("sm_90");
  EXPECT_NE(identity(plain).find("nvrtc 13.0 sm_90"), std::string::npos);
  Target slow = plain;
  slow.rates.call_ns = 1;
  EXPECT_NE(identity(slow), identity(plain));
  EXPECT_NE(identity(Target::named("sm_100")), identity(plain));
  Target native = plain;  // what "cuda" is on such a machine
  native.is_native = true;
  EXPECT_NE(identity(native).find("cuda 90\n"), std::string::npos);
  EXPECT_EQ(
      CudaBackend(plain, 0,
                  {.device = no_device,
                   .compiler = [] { return Nvrtc::open({.asks_system = false, .folders = {}}); }})
          .identity(nullptr)
          .failure()
          .kind,
      ErrorKind::unsupported);
}

TEST(CudaBackend, functions_of_the_host_are_refused_by_name) {
  LoweredProgram program;
  program.thunks = {{"mine", ForeignCall{}}};
  const auto emitted = backend_of("sm_90", no_device).emit(program, {});
  ASSERT_FALSE(emitted.ok());
  EXPECT_EQ(emitted.failure().kind, ErrorKind::unsupported);
  EXPECT_TRUE(emitted.failure().message.starts_with(
      "%mine: a custom operator's function runs on the host, and target sm_90 is a GPU"));
}

}  // namespace
}  // namespace cleave::cuda
