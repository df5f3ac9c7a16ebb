// Programs that a cache gives back: no stage runs, and nothing else is another.
// tests: compile/program_cache.cpp compile/program_entry.cpp compile/lowered_graph.cpp
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cache/disk_cache.h"
#include "cleave/cleave.h"
#include "runtime/private_folder.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

class ProgramCache : public testing::Test {
 protected:
  CompileOptions options() const { return {.cache_dir = folder_->path()}; }
  CompiledFunction compiled(const TracedFunction& f, const std::vector<InputSpec>& inputs,
                            CompileOptions o = {}) const {
    o.cache_dir = folder_->path();
    return compile(f, inputs, o);
  }
  int64_t bypasses(const std::string& reason) const {
    const auto totals = value_or_throw(cache::DiskCache::open(folder_->path()))->totals();
    const auto at = totals.bypasses.find(reason);
    return at == totals.bypasses.end() ? 0 : at->second;
  }

  std::unique_ptr<runtime::PrivateFolder> folder_ =
      value_or_throw(runtime::PrivateFolder::make(std::filesystem::temp_directory_path()));
};

std::vector<std::string> stages_of(const Report& r) {
  std::vector<std::string> out;
  for (const CompileStage& s : r.stages) out.push_back(s.name);
  return out;
}

// A training step with dropout and attention from a folder that has it: bit for bit the same.
TEST_F(ProgramCache, training_steps_go_on_as_without_it) {
  const auto losses = [&](const CompileOptions& o, Report& report) {
    std::vector<float> out;
    Generator rng(3);
    const nn::Sequential model(nn::Linear(16, 32, rng), nn::Dropout(0.3), nn::LayerNorm({32}),
                               nn::Linear(32, 4, rng));
    TrainStep step = train_step(
        model, [model](const Tensor& x, const Tensor& y) { return cross_entropy(model(x), y); },
        optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {8, 16}}, {"y", DType::i64, {8}}},
        {.compile = o, .clip_norm = 1.0, .seed = 5});
    report = step.report();
    HostTensor x(DType::f32, {8, 16}), y(DType::i64, {8});
    for (int64_t i = 0; i < x.numel(); ++i) x.set_number(i, std::sin(double(i)));
    for (int64_t i = 0; i < 8; ++i) y.set_number(i, double(i % 4));
    for (int k = 0; k < 4; ++k) out.push_back(float(step.run({x, y}).loss));
    return out;
  };
  Report none, miss, hit;
  const std::vector<float> want = losses({}, none);
  EXPECT_EQ(losses(options(), miss), want);
  EXPECT_EQ(losses(options(), hit), want);
  EXPECT_EQ(none.cache, "bypass");
  EXPECT_EQ(miss.cache, "miss");
  EXPECT_EQ(hit.cache, "hit");
  EXPECT_EQ(stages_of(hit), (std::vector<std::string>{"autocast", "pre_grad", "find"}));
  EXPECT_EQ(stages_of(miss).back(), "keep");
  EXPECT_EQ(hit.passes.size(), miss.passes.size());
  EXPECT_EQ(hit.planned_peak_bytes, none.planned_peak_bytes);
}

// The message of a failed run has the lines of the program that runs.
TEST_F(ProgramCache, lines_are_those_of_the_present_program) {
  const std::vector<InputSpec> inputs = {{"x", DType::f32, {5}}, {"i", DType::i64, {2}}};
  int first = 0, second = 0;
  CompiledFunction one = compiled(
      [&](const Tensor& x, const Tensor& i) {
        first = __LINE__ + 1;
        return index_select(x, 0, i);
      },
      inputs);
  CompiledFunction two = compiled(
      [&](const Tensor& x, const Tensor& i) {
        second = __LINE__ + 1;
        return index_select(x, 0, i);
      },
      inputs);
  ASSERT_EQ(two.report().cache, "hit");
  HostTensor i(DType::i64, {2});
  i.set_number(1, 7);
  const HostTensor x(DType::f32, {5});
  const auto text = [&](CompiledFunction& f) { return message([&] { f.run({x, i}); }); };
  const std::string format =
      "program_cache_test.cpp:{}: index_select: index: index 7 is out of range [0, 5), %i[1]";
  EXPECT_TRUE(text(one).ends_with(fmt::format(fmt::runtime(format), first))) << text(one);
  EXPECT_TRUE(text(two).ends_with(fmt::format(fmt::runtime(format), second))) << text(two);
}

Operator scaled(const std::string& version, double factor, bool in_c) {
  Operator op{.name = "scaled",
              .signature = "(Tensor x) -> Tensor",
              .version = version,
              .infer = [](const OpCall& c) { return std::vector{c.operand(0)}; },
              .reference = [](const OpCall&, const HostTensors&, HostTensors&) {}};
  if (in_c)
    op.kernel = [factor](const OpCall& c) {
      return fmt::format("for (long i = 0; i < {}; ++i) result0[i] = x[i] * {}f;",
                         c.operand(0).numel(), factor);
    };
  else
    op.callback = [factor](const OpCall&) {
      return [factor](const OpMemory& m) {
        for (size_t i = 0; i < m.operand<float>(0).size(); ++i)
          m.result<float>(0)[i] = float(m.operand<float>(0)[i] * factor);
      };
    };
  return op;
}

TEST_F(ProgramCache, own_operators) {
  const auto f = [](const Tensor& x) { return exp(call("scaled", {x + 1.0}, {})[0]); };
  const HostTensor x(DType::f32, {3});
  for (const bool in_c : {true, false}) {
    const auto run = [&](const std::string& version, double factor, const char* cache) {
      Operators ops;
      ops.add(scaled(version + (in_c ? " in C" : ""), factor, in_c));
      CompiledFunction g = compiled(f, {{"x", DType::f32, {3}}}, {.ops = ops});
      EXPECT_EQ(g.report().cache, cache) << version << in_c;
      return std::log(g.run({x})[0].number(2));
    };
    EXPECT_NEAR(run("2", 2.5, "miss"), 2.5, 1e-6);
    EXPECT_NEAR(run("2", 2.5, "hit"), 2.5, 1e-6);
    EXPECT_NEAR(run("3", 3.5, "miss"), 3.5, 1e-6);
    // A callback is the present program's, whatever the version promises.
    if (!in_c) { EXPECT_NEAR(run("3", 4.5, "hit"), 4.5, 1e-6); }
  }
  Operators ops;
  ops.add(scaled("", 1.5, true));
  for (int k = 1; k <= 2; ++k) {
    CompiledFunction g = compiled(f, {{"x", DType::f32, {3}}}, {.ops = ops});
    EXPECT_EQ(g.report().cache, "bypass");
    EXPECT_EQ(g.report().cache_reason, "operator scaled has no version");
    EXPECT_NEAR(std::log(g.run({x})[0].number(2)), 1.5, 1e-6);
    EXPECT_EQ(bypasses("operator scaled has no version"), k);
  }
}

// Where a unit or the program itself is gone, all is built again.
TEST_F(ProgramCache, what_is_gone_is_built_again) {
  const auto f = [](const Tensor& x) { return tanh(x) * 3.0; };
  const auto run = [&] {
    CompiledFunction g = compiled(f, {{"x", DType::f32, {40}}});
    return std::pair(g.report().cache, g.run({HostTensor(DType::f32, {40})})[0].number(7));
  };
  EXPECT_EQ(run(), std::pair(std::string("miss"), 0.0));
  std::vector<std::filesystem::path> entries;
  for (const auto& e : std::filesystem::recursive_directory_iterator(folder_->path()))
    if (e.is_regular_file() && e.path().parent_path() != folder_->path())
      entries.push_back(e.path());
  EXPECT_GE(entries.size(), 2u);
  for (const auto& path : entries) {
    EXPECT_EQ(run().first, "hit");
    std::filesystem::remove(path);
    // But for what was remembered of the compiler, which is asked again.
    const bool is_compiler = std::filesystem::exists(path);
    EXPECT_FALSE(is_compiler);
    run();
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
  EXPECT_EQ(run(), std::pair(std::string("hit"), 0.0));
}

// A frozen program has a part that runs once, which is found as well.
TEST_F(ProgramCache, frozen_programs) {
  Generator rng(3);
  const nn::Linear model(3, 3, rng);
  const Variable w = model.parameter("weight");
  const auto f = [w](const Tensor& x) { return matmul(x, matmul(Tensor(w), Tensor(w))); };
  HostTensor x(DType::f32, {2, 3});
  for (int64_t i = 0; i < 6; ++i) x.set_number(i, 0.25 * double(i));
  std::vector<HostTensor> results;
  std::vector<Report> reports;
  for (const char* want : {"miss", "hit"}) {
    CompiledFunction g = compile(model, f, {{"x", DType::f32, {2, 3}}},
                                 {.cache_dir = folder_->path(), .freeze = true});
    EXPECT_EQ(g.report().cache, want);
    results.push_back(g.run({x})[0]);
    reports.push_back(g.report());
  }
  EXPECT_TRUE(results[1].same_bits(results[0]));
  EXPECT_GT(reports[0].frozen.folded.count, 0);
  EXPECT_EQ(reports[1].frozen.folded.count, reports[0].frozen.folded.count);
  EXPECT_EQ(reports[1].frozen.dropped.bytes, reports[0].frozen.dropped.bytes);
}

// Who watches the stages sees them run, and leaves a program for others.
TEST_F(ProgramCache, observers_see_every_stage) {
  struct Count : CompileObserver {
    void after(std::string_view, const StageText&) override { ++stages; }
    int stages = 0;
  };
  const auto f = [](const Tensor& x) { return sin(x) * 0.5; };
  for (int k = 0; k < 2; ++k) {
    const auto count = std::make_shared<Count>();
    CompiledFunction g = compiled(f, {{"x", DType::f32, {4}}}, {.observers = {count}});
    EXPECT_EQ(g.report().cache, "bypass");
    EXPECT_EQ(g.report().cache_reason, "observers see every stage");
    EXPECT_GT(count->stages, 10);
  }
  EXPECT_EQ(compiled(f, {{"x", DType::f32, {4}}}).report().cache, "hit");
}

TEST_F(ProgramCache, what_cannot_be_kept_says_why) {
  const auto small = Cache::memory(100);
  for (int k = 0; k < 2; ++k) {
    const CompiledFunction g = compile([](const Tensor& x) { return sin(x) * 0.5; },
                                       {{"x", DType::f32, {4}}}, {.cache = small});
    EXPECT_EQ(g.report().cache, "miss");
    EXPECT_TRUE(g.report().cache_reason.starts_with("it isn't kept: ") &&
                g.report().cache_reason.ends_with(" bytes are more than the cache's 100"))
        << g.report().cache_reason;
  }
}

TEST_F(ProgramCache, passes_of_the_host_program) {
  const auto run = [&](const std::string& version) {
    const FunctionPass same{.name = "same",
                            .version = version,
                            .point = RulePoint::joint,
                            .function = [](const std::string& graph) { return graph; }};
    return compiled([](const Tensor& x) { return cos(x); }, {{"x", DType::f32, {4}}},
                    {.functions = {same}})
        .report();
  };
  EXPECT_EQ(run("1").cache, "miss");
  EXPECT_EQ(run("1").cache, "hit");
  EXPECT_EQ(run("2").cache, "miss");
  EXPECT_EQ(run("").cache, "bypass");
  EXPECT_EQ(run("").cache_reason, "same has no version");
  EXPECT_EQ(bypasses("same has no version"), 2);
  EXPECT_EQ(run("1").graph_id.size(), 8u);
  EXPECT_NE(run("1").graph_id, run("2").graph_id);
}

// Whatever is behind CompileOptions::cache.
TEST_F(ProgramCache, caches_that_programs_share) {
  const auto f = [](const Tensor& x) { return exp(x) * 2.0; };
  const auto memory = Cache::memory(), fresh = Cache::fresh(folder_->path());
  EXPECT_EQ(memory->folder(), "");
  EXPECT_TRUE(fresh->folder().starts_with(folder_->path() + "/fresh-")) << fresh->folder();
  for (const auto& cache : {memory, fresh, Cache::disk(folder_->path() + "/disk")}) {
    for (const char* want : {"miss", "hit"}) {
      CompiledFunction g = compile(f, {{"x", DType::f32, {4}}}, {.cache = cache});
      EXPECT_EQ(g.report().cache, want);
      EXPECT_EQ(g.run({HostTensor(DType::f32, {4})})[0].number(0), 2.0);
    }
    const Cache::Counts c = cache->counts();
    EXPECT_EQ(c.hits - (CLEAVE_HAVE_CLANG ? 1 : 0), 2) << "the program, its unit";
    EXPECT_EQ(c.failures, 0);
  }
  // A small one that evicts what it has: compiled each time.
  const auto tiny = Cache::memory(10);
  for (int k = 0; k < 2; ++k)
    EXPECT_EQ(compile(f, {{"x", DType::f32, {4}}}, {.cache = tiny}).report().cache, "miss");
  EXPECT_GT(tiny->counts().failures, 0);
}

TEST_F(ProgramCache, a_check_compiles_and_compares) {
  const auto run = [&](double factor) {
    Operators ops;
    ops.add(scaled("1", factor, true));
    return message([&] {
      compiled([](const Tensor& x) { return call("scaled", {x}, {})[0] + 1.0; },
               {{"x", DType::f32, {3}}}, {.ops = ops, .cache_check = true});
    });
  };
  EXPECT_EQ(run(2.5), "no error");    // a miss
  EXPECT_EQ(run(2.5), "no error");    // a hit, and equal
  const std::string text = run(3.5);  // the operator's version lies
  EXPECT_NE(text.find("cache_check: the text of the program in the cache isn't what is compiled"),
            std::string::npos)
      << text;
}

// A remote cache that fails is a warning of the program that met it, and of no other.
TEST_F(ProgramCache, a_remote_cache) {
  const std::string key = folder_->path() + "/secret", place = folder_->path() + "/place";
  const std::string secret(32, 'k');
  value_or_throw(runtime::write_private_file(key, std::as_bytes(std::span(secret))));
  std::filesystem::create_directory(place);
  const auto f = [](const Tensor& x) { return exp(x) * 2.0; };
  for (const char* want : {"miss", "hit"}) {  // two machines
    const auto cache = Cache::remote(Cache::memory(), {.place = place, .key_file = key});
    EXPECT_EQ(compile(f, {{"x", DType::f32, {4}}}, {.cache = cache}).report().cache, want);
  }
  const auto cache = Cache::remote(Cache::memory(), {.place = place, .key_file = key});
  std::filesystem::remove_all(place);
  std::ofstream(place) << "no folder any more";
  for (const size_t warnings : {1u, 0u}) {
    const Report r = compile(f, {{"x", DType::f32, {5}}}, {.cache = cache}).report();
    EXPECT_EQ(r.warnings.size(), warnings);
    if (warnings == 1) { EXPECT_EQ(r.warnings[0].code, "remote_cache"); }
  }
  EXPECT_NE(message([&] { Cache::remote(nullptr, {}); }).find("expected a local one"),
            std::string::npos);
  EXPECT_NE(message([&] { Cache::remote(Cache::memory(), {place, place}); }).find("key"),
            std::string::npos);
}

TEST_F(ProgramCache, a_dump_has_every_stage) {
  const auto f = [](const Tensor& x) { return sin(x); };
  CompileOptions o;
  o.dump_dir = folder_->path() + "/dump";
  compiled(f, {{"x", DType::f32, {4}}});
  for (int k = 0; k < 2; ++k) {
    std::filesystem::remove_all(o.dump_dir);
    CompiledFunction g = compiled(f, {{"x", DType::f32, {4}}}, o);
    EXPECT_EQ(g.report().cache, "bypass");
    EXPECT_EQ(g.report().cache_reason, "all stages are dumped");
    EXPECT_TRUE(std::filesystem::exists(o.dump_dir + "/12_lower.loops"));
  }
}

// One text from the budget's family, with its recomputation.
TEST_F(ProgramCache, budgets_and_dyn_sizes) {
  const auto f = [](const Tensor& x) { return sum(exp(tanh(x) * x), {1}); };
  for (const char* cache : {"miss", "hit"}) {
    CompiledFunction g = compiled(f, {{"x", DType::f32, {dyn("n", 1, 8), 6}}},
                                  {.memory_budget = MemoryBudget::percent(100)});
    EXPECT_EQ(g.report().cache, cache);
    for (const int64_t n : {3, 8, 1}) {
      g.run({HostTensor(DType::f32, {n, 6})});
      EXPECT_EQ(g.report().cache, n == 8 || std::string(cache) == "hit" ? cache : "miss") << n;
      EXPECT_EQ(g.output(0).numel(), n);
      EXPECT_EQ(g.output(0).number(0), 6.0);
    }
  }
}

}  // namespace
}  // namespace cleave
