// Compiled programs: memory, failures, instances, threads, compilers, the dump.
// tests: executable.cpp bound_program.cpp
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include "compile/stages.h"
#include "exec/executable.h"
#include "runtime/compiler.h"
#include "test/exec/step_text.h"
#include "test/random_inputs.h"
#include "test/sample/backend_of.h"
#include "test/targets.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;
using test::step_text;

std::shared_ptr<const CompiledProgram> compiled(const std::string& text, int threads = 2,
                                                CompilerChoice kind = CompilerChoice::automatic,
                                                const Target& target = Target::here()) {
  StageOptions options;
  options.target = target;
  options.executor = make_thread_pool(threads);
  options.compiler = kind;
  return value_or_throw(CompiledProgram::compile(parsed(text), core(), options));
}

std::unique_ptr<Instance> instance(std::shared_ptr<const CompiledProgram> p, int threads = 2) {
  return value_or_throw(Instance::make(std::move(p), make_thread_pool(threads)));
}

// Names each product by its columns, which stands for what a device measures.
class TuningBackend final : public test::BackendOf {
 public:
  using BackendOf::BackendOf;
  Result<Target> tuned_target(const std::vector<LibrarySpec>& calls) const override {
    Target out = target();
    for (const LibrarySpec& call : calls)
      if (auto* product = std::get_if<GemmSpec>(&call)) ++out.answers[std::to_string(product->n)];
    return out;
  }
};

TEST(Instance, TunesTheLibraryCallsOfItsProgram) {
  const char* text =
      "graph @main(%x: input f32[4,8], %w: input f32[8,16], %u: input f32[16,5]) {\n"
      "  %a = mm(%x, %w)\n  %b = mm(%a, %u)\n  %c = relu(%b)\n  return %c\n}\n";
  StageOptions options;
  options.executor = make_thread_pool(1);
  const auto usual = value_or_throw(CompiledProgram::compile(parsed(text), core(), options));
  EXPECT_EQ(value_or_throw(instance(usual, 1)->tuned_target()), Target::here());
  options.backend = std::make_shared<TuningBackend>(backend_for(options));
  const auto tuned = value_or_throw(CompiledProgram::compile(parsed(text), core(), options));
  EXPECT_EQ(value_or_throw(instance(tuned, 1)->tuned_target()).answers,
            (std::map<std::string, int>{{"16", 1}, {"5", 1}}));
}

TEST(Instance, UpdatesWriteThePlaceholdersMemoryWithoutACopy) {
  auto p = compiled(step_text);
  // embedding and sum are one kernel, mul and sub another: the update needs no third step.
  EXPECT_EQ(p->report().kernels, 2);
  auto run = instance(p);
  std::vector<float> w(300 * 40, 1.0f);
  std::vector<int64_t> i = {0, 299, -1, 3, 3};
  i[2] = 7;
  float lr = 0.5f;
  ASSERT_TRUE(run->bind(0, std::span(w)).ok() && run->bind(1, std::span(i)).ok() &&
              run->bind(2, std::span(&lr, 1)).ok());
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(static_cast<const float*>(run->result(0))[0], 5.0f);
  EXPECT_EQ(run->result(1), w.data());
  for (float x : w) ASSERT_EQ(x, 1.0f - 2.5f);
}

TEST(Instance, AFailedStepLeavesEveryPlaceholderAsItWas) {
  auto run = instance(compiled(step_text));
  std::vector<float> w(300 * 40, 1.0f);
  std::vector<int64_t> i = {0, 1, 2, 3, 300};
  float lr = 0.5f;
  ASSERT_TRUE(run->bind(0, std::span(w)).ok() && run->bind(1, std::span(i)).ok() &&
              run->bind(2, std::span(&lr, 1)).ok());
  Status s = run->run();
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.failure().kind, ErrorKind::user);
  EXPECT_NE(s.failure().message.find("embedding"), std::string::npos) << s.failure().message;
  EXPECT_NE(s.failure().message.find("300"), std::string::npos) << s.failure().message;
  for (float x : w) ASSERT_EQ(x, 1.0f);
  i[4] = 4;
  EXPECT_TRUE(run->run().ok());
}

TEST(Instance, PlaceholdersMayBeSwapped) {
  auto run = instance(compiled(R"(graph @main(%a: buffer f32[7], %b: buffer f32[7]) {
    return %a -> %b, %b -> %a
  })"));
  std::vector<float> a(7, 1.0f), b(7, 2.0f);
  ASSERT_TRUE(run->bind(0, std::span(a)).ok() && run->bind(1, std::span(b)).ok());
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(a[6], 2.0f);
  EXPECT_EQ(b[6], 1.0f);
}

TEST(Instance, AResultReadsAPlaceholderBeforeItsUpdate) {
  auto run = instance(compiled(R"(graph @main(%a: buffer f32[40,3]) {
    %t = permute(%a; dims=[1,0])
    %n = mul(%a; other=2.0)
    return %t, %n -> %a
  })"));
  std::vector<float> a(120);
  for (int k = 0; k < 120; ++k) a[k] = static_cast<float>(k);
  ASSERT_TRUE(run->bind(0, std::span(a)).ok());
  ASSERT_TRUE(run->run().ok());
  const float* t = static_cast<const float*>(run->result(0));
  EXPECT_EQ(t[1], 3.0f);
  EXPECT_EQ(t[40], 1.0f);
  EXPECT_EQ(a[119], 238.0f);
}

TEST(Instance, AnUnboundPlaceholderIsNamed) {
  auto run = instance(compiled(step_text));
  Status s = run->run();
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.failure().message.find("%w"), std::string::npos);
}

constexpr const char* norm_text =
    R"(graph @main(%x: input f32[64,257], %w: input f32[257], %m: input f32[257,33]) {
  %y, %mean, %rstd = native_layer_norm(%x, %w; normalized_shape=[257], eps=1e-05)
  %p = mm(%y, %m)
  %s = _softmax(%p; dim=-1, half_to_float=false)
  %c = sum(%s; dim=[0])
  %t = sum(%y; dim=[])
  return %s, %c, %t
})";

std::vector<std::byte> results_of(const CompiledProgram& p, Instance& run) {
  std::vector<std::byte> out;
  for (size_t k = 0; k < p.graph().returns().size(); ++k) {
    const Type& t = p.graph().type(p.graph().returns()[k].value);
    const auto* data = static_cast<const std::byte*>(run.result(k));
    out.insert(out.end(), data, data + t.numel().value() * size_of(t.dtype));
  }
  return out;
}

std::vector<float> wave(size_t n, float step) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = std::sin(step * static_cast<float>(i));
  return x;
}

TEST(Instance, BitsAreThoseOfOneThread) {
  auto x = wave(64 * 257, 0.37f), w = wave(257, 1.3f), m = wave(257 * 33, 0.11f);
  std::vector<std::vector<std::byte>> all;
  for (int threads : {1, 2, 3}) {
    auto p = compiled(norm_text, threads);
    auto run = instance(p, threads);
    ASSERT_TRUE(run->bind(0, std::span(x)).ok() && run->bind(1, std::span(w)).ok() &&
                run->bind(2, std::span(m)).ok());
    ASSERT_TRUE(run->run().ok());
    all.push_back(results_of(*p, *run));
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

TEST(Instance, TwoRunAtOnceAndOneOnlyOnce) {
  auto p = compiled(norm_text);
  auto x = wave(64 * 257, 0.37f), w = wave(257, 1.3f), m = wave(257 * 33, 0.11f);
  auto executor = make_thread_pool(2);
  std::vector<std::unique_ptr<Instance>> runs;
  for (int k = 0; k < 2; ++k) {
    runs.push_back(value_or_throw(Instance::make(p, executor)));
    ASSERT_TRUE(runs[k]->bind(0, std::span(x)).ok() && runs[k]->bind(1, std::span(w)).ok() &&
                runs[k]->bind(2, std::span(m)).ok());
  }
  ASSERT_TRUE(runs[0]->run().ok());
  const auto want = results_of(*p, *runs[0]);
  std::vector<int> wrong(2);
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&, k] {
      for (int i = 0; i < 50; ++i)
        wrong[k] += !runs[k]->run().ok() || results_of(*p, *runs[k]) != want;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0}));
}

// An executor that runs the instance again from inside of its own step.
struct Reentrant : Executor {
  Instance* target = nullptr;
  mutable Status seen;
  int threads() const override { return 1; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    if (target) seen = target->run();
    for (long i = 0; i < pieces; ++i) f(context, i);
  }
};

TEST(Instance, EnteredTwiceSaysSo) {
  auto executor = std::make_shared<Reentrant>();
  auto p = compiled(R"(graph @main(%x: input f32[1000000]) {
    %y = mul(%x; other=2.0)
    return %y
  })");
  auto run = value_or_throw(Instance::make(p, executor));
  std::vector<float> x(1000000, 1.0f);
  ASSERT_TRUE(run->bind(0, std::span(x)).ok());
  executor->target = run.get();
  ASSERT_TRUE(run->run().ok());
  ASSERT_FALSE(executor->seen.ok());
  EXPECT_NE(executor->seen.failure().message.find("running already"), std::string::npos);
}

TEST(Instance, PlannedPeakIsWhatIsTouched) {
  for (const Target& target : test::targets_here()) {
    SCOPED_TRACE(target.text());
    auto p = compiled(norm_text, 2, CompilerChoice::automatic, target);
    auto run = instance(p);
    auto x = wave(64 * 257, 0.37f), w = wave(257, 1.3f), m = wave(257 * 33, 0.11f);
    ASSERT_TRUE(run->bind(0, std::span(x)).ok() && run->bind(1, std::span(w)).ok() &&
                run->bind(2, std::span(m)).ok());
    run->fill_arena_pattern();
    EXPECT_EQ(run->touched_arena_bytes(), 0);
    ASSERT_TRUE(run->run().ok());
    EXPECT_EQ(run->touched_arena_bytes(), p->report().arena_bytes);
  }
}

// It is compiled all the same: a program may be compiled here for another machine.
TEST(Instance, ATargetThatThisMachineLacksIsUnsupported) {
  const Target most = test::levels().back();
  if (most.runs_here()) GTEST_SKIP() << "this machine runs every target";
  const auto made =
      Instance::make(compiled(norm_text, 2, CompilerChoice::automatic, most), make_thread_pool(1));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::unsupported);
  EXPECT_TRUE(made.failure().message.starts_with("target x86-64-v4-amx: this machine has no more"))
      << made.failure().message;
}

TEST(Instance, BothCompilersGiveTheSameBits) {
  auto x = wave(64 * 257, 0.37f), w = wave(257, 1.3f), m = wave(257 * 33, 0.11f);
  std::vector<std::vector<std::byte>> all;
  for (auto kind : {CompilerChoice::clang, CompilerChoice::cc}) {
    if (!runtime::make_compiler(kind, Target::here()).ok())
      GTEST_SKIP() << "only one compiler is here";
    auto p = compiled(norm_text, 2, kind);
    auto run = instance(p);
    ASSERT_TRUE(run->bind(0, std::span(x)).ok() && run->bind(1, std::span(w)).ok() &&
                run->bind(2, std::span(m)).ok());
    ASSERT_TRUE(run->run().ok());
    all.push_back(results_of(*p, *run));
  }
  EXPECT_EQ(all[0], all[1]);
}

TEST(Compile, EqualKernelsAreEmittedOnce) {
  auto p = compiled(R"(graph @main(%x: input f32[9,5], %y: input f32[9,5], %z: input f32[9,5]) {
    %a = mul(%x; other=2.0)
    %b = mul(%y; other=2.0)
    %c = mul(%z; other=3.0)
    return %a, %b, %c
  })");
  EXPECT_EQ(p->report().kernels, 3);
  EXPECT_EQ(p->report().distinct_kernels, 2);
}

TEST(Compile, DumpHoldsStagesThatReadBack) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("cleave_dump_{}", getpid());
  StageOptions options;
  options.executor = make_thread_pool(1);
  options.dump_dir = folder.string();
  value_or_throw(CompiledProgram::compile(parsed(norm_text), core(), options));
  int graphs = 0, units = 0;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    std::FILE* f = std::fopen(e.path().c_str(), "r");
    std::string text(std::filesystem::file_size(e.path()), '\0');
    ASSERT_EQ(std::fread(text.data(), 1, text.size(), f), text.size());
    std::fclose(f);
    if (e.path().extension() == ".clv") graphs += parse(text, e.path(), core()).ok();
    if (e.path().extension() == ".c") units += text.find("buffer[0]") != std::string::npos;
  }
  std::filesystem::remove_all(folder);
  EXPECT_GE(graphs, 1);
  EXPECT_GE(units, 1);
}

TEST(Instance, MemoryThatDoesNotSuitIsRefused) {
  auto run =
      instance(compiled("graph @main(%x: input f32[2,3]{10,1}, %h: input bf16[2]) {\n"
                        "  %y = sin(%x)\n  return %y, %h\n}"));
  const auto refusal = [](const Status& s) { return s.ok() ? "none" : s.failure().message; };
  std::vector<float> x(13);
  std::vector<double> d(13);
  std::vector<uint16_t> h(2);
  EXPECT_EQ(refusal(run->bind(0, std::span(x))), "none");
  EXPECT_EQ(refusal(run->bind(1, std::span(h))), "none");
  EXPECT_EQ(refusal(run->bind(0, std::span(x).first(12))),
            "placeholder %x: it is bound to 48 B of f32, expected at least 52 B of f32: "
            "f32[2,3]{10,1}");
  EXPECT_EQ(refusal(run->bind(0, std::span(d))),
            "placeholder %x: it is bound to 104 B of f64, expected at least 52 B of f32: "
            "f32[2,3]{10,1}");
  EXPECT_EQ(refusal(run->bind(0, std::as_writable_bytes(std::span(x)).first(8))),
            "placeholder %x: it is bound to 8 B of any dtype, expected at least 52 B of f32: "
            "f32[2,3]{10,1}");
  EXPECT_EQ(refusal(run->bind(2, std::span(x))), "bind: placeholder 2 is outside [0, 2)");
  EXPECT_EQ(refusal(run->run()), "none");  // earlier bindings are kept
}

}  // namespace
}  // namespace cleave
