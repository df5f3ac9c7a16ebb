// Small products that run as one job: in programs compiled here and ahead of time.
#include <gtest/gtest.h>

#include <cstring>

#include "ahead/build_library.h"
#include "exec/executable.h"
#include "ir/specialize.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/ahead/library.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;

// Counts the jobs of 16 threads, none of which there are.
struct CountedJobs final : Executor {
  int threads() const override { return 16; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    ++jobs;
    while (pieces-- > 0) f(context, pieces);
  }
  int jobs = 0;
};

struct Program {
  HostTensors inputs;
  std::vector<std::string> names;
  Graph graph;

  explicit Program(const std::string& text)
      : graph(value_or_throw(parse(text, "test", core())).main) {
    for (const Placeholder& p : graph.placeholders()) {
      const Type& t = graph.type(p.value);
      HostTensor& to = inputs.emplace_back(t.dtype, static_shape(t));
      for (int64_t k = 0; k < to.numel(); ++k)
        to.set_number(k, static_cast<double>((k * 37 + std::ssize(inputs)) % 101) / 50 - 1);
      names.push_back(graph.name(p.value));
    }
  }
  HostTensors outputs() const {
    HostTensors out;
    for (const Return& r : graph.returns()) {
      const Type& t = graph.type(r.value);
      out.emplace_back(t.dtype, static_shape(t));
    }
    return out;
  }
};

struct Ran {
  HostTensors results;
  int jobs = 0;
};

Ran run_here(const Program& p, const std::vector<std::string>& passes_on = {}) {
  StageOptions options;
  options.passes_on = passes_on;
  const auto executor = std::make_shared<CountedJobs>();
  options.executor = executor;
  const auto program = value_or_throw(CompiledProgram::compile(p.graph, core(), options));
  const auto instance = value_or_throw(Instance::make(program, executor));
  HostTensors inputs = p.inputs;
  for (size_t k = 0; k < inputs.size(); ++k)
    value_or_throw(
        instance->bind(k, {inputs[k].data(), inputs[k].extent_bytes(), inputs[k].dtype()}));
  executor->jobs = 0;
  value_or_throw(instance->run());
  Ran out{p.outputs(), executor->jobs};
  for (size_t k = 0; k < out.results.size(); ++k)
    std::memcpy(out.results[k].data(), instance->result(k),
                static_cast<size_t>(out.results[k].extent_bytes()));
  return out;
}

Ran run_ahead(const Program& p) {
  ahead::Source source;
  source.ops = &core();
  source.sized.push_back({{}, {p.graph, {}}});
  ahead::Source::Program& program = source.sized[0].step;
  source.inputs = program.inputs = p.names;
  for (size_t k = 0; k < p.graph.returns().size(); ++k) {
    program.outputs.emplace_back(k);
    source.outputs.push_back("out." + std::to_string(k));
  }
  const Folder folder;
  const BuiltLibrary built = value_or_throw(ahead::build_library(source, folder / "g.so", {}));
  Library library(built.path, "g");
  CountedJobs executor;
  cleave_options options = CLEAVE_OPTIONS_INIT(0);
  options.pool = &executor;
  options.pool_threads = executor.threads();
  options.parallel_for = [](void* pool, long pieces, void (*f)(void*, long), void* context) {
    static_cast<CountedJobs*>(pool)->parallel_for(pieces, f, context);
  };
  Opened opened(library, &options);
  executor.jobs = 0;
  Ran out{p.outputs(), 0};
  EXPECT_EQ(opened.run(p.inputs, out.results), CLEAVE_DONE) << opened.message();
  out.jobs = executor.jobs;
  return out;
}

void expect_same(const Ran& a, const Ran& b) {
  ASSERT_EQ(a.results.size(), b.results.size());
  for (size_t k = 0; k < a.results.size(); ++k)
    EXPECT_TRUE(a.results[k].same_bits(b.results[k])) << k;
}

// Where the peak is at %l, small products have room to be one job.
std::string text_of(const std::string& body, const std::string& results) {
  return "graph @main(%z: input f32[600,600], %x: input f32[64,48], %y: input f32[20,48], "
         "%v: input f32[48,32], %w: input f32[48,70]) {\n"
         "  %k = mm(%z, %z)\n  %l = mm(%k, %z)\n" +
         body + "  return %l, " + results + "\n}\n";
}

TEST(JoinedProducts, are_one_job_here_and_ahead_of_time) {
  const Program joined(
      text_of("  %a = mm(%x, %v)\n  %b = mm(%y, %w)\n  %c = mm(%x, %w)\n  %d = mm(%y, %v)\n",
              "%a, %b, %c, %d"));
  const Ran here = run_here(joined), ahead = run_ahead(joined);
  EXPECT_EQ(here.jobs, 3);
  EXPECT_EQ(ahead.jobs, 3);
  expect_same(here, ahead);
  // The same products, each in a program of its own.
  for (const auto& [k, call] : {std::pair<size_t, const char*>{1, "mm(%x, %v)"},
                                {2, "mm(%y, %w)"},
                                {3, "mm(%x, %w)"},
                                {4, "mm(%y, %v)"}}) {
    const Ran alone = run_here(Program(text_of(std::string("  %a = ") + call + "\n", "%a")));
    EXPECT_EQ(alone.jobs, 3);
    EXPECT_TRUE(alone.results[1].same_bits(here.results[k])) << k;
  }
}

// The pass group_linear makes neighbours of products that others separate, and what comes after it
// leaves them so.
TEST(JoinedProducts, that_group_linear_makes_neighbours) {
  std::string body, results;
  for (int k = 0; k < 5; ++k) {
    body += fmt::format("  %a{} = mm(%{}, %{})\n  %b{} = argmax(%a{}; dim=0)\n", k,
                        k % 2 ? "x" : "y", k % 3 ? "v" : "w", k, k);
    results += fmt::format("{}%b{}", k ? ", " : "", k);
  }
  const Program apart(text_of(body, results));
  const Ran usual = run_here(apart), grouped = run_here(apart, {"group_linear"});
  expect_same(usual, grouped);
  EXPECT_GT(usual.jobs, 3);
  EXPECT_EQ(grouped.jobs, 3);
}

}  // namespace
}  // namespace cleave
