// Observers see every stage, and what one throws is what the caller gets.
// tests: dump.cpp stage_text.cpp
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "cleave/cleave.h"
#include "compile/stages.h"
#include "exec/executable.h"
#include "ir/text.h"
#include "test/random_inputs.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::core;
using test::message;

Tensor f(const Tensor& x) { return tanh(matmul(x, x)) * 2 + exp(x); }
const std::vector<InputSpec> input = {{"x", DType::f32, {8, 8}}};

struct Seen {
  std::string stage;
  std::vector<StageText::File> before, after;
};

struct Recorder : CompileObserver {
  std::vector<Seen> stages;
  void before(std::string_view stage, const StageText& text) override {
    stages.push_back({std::string(stage), text.files(), {}});
  }
  void after(std::string_view stage, const StageText& text) override {
    EXPECT_EQ(stages.back().stage, stage);
    stages.back().after = text.files();
    std::string all;
    for (const StageText::File& file : stages.back().after) all += file.text;
    EXPECT_EQ(text(), all);
  }
};

std::string texts_of(const std::vector<StageText::File>& files) {
  std::string out;
  for (const StageText::File& file : files) out += file.name + "\n" + file.text;
  return out;
}

TEST(Observers, see_each_stage_of_the_report_and_what_is_there) {
  const auto seen = std::make_shared<Recorder>();
  const CompiledFunction made = compile(f, input, {.observers = {seen}});
  const std::vector<CompileStage>& rows = made.report().stages;
  ASSERT_EQ(seen->stages.size(), rows.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    const Seen& s = seen->stages[k];
    SCOPED_TRACE(s.stage);
    EXPECT_EQ(s.stage, rows[k].name);
    // What a stage leaves is what the next one begins with; a trace is closed between two of them.
    if (k > 0 && s.stage != "verify") {
      EXPECT_EQ(texts_of(s.before), texts_of(seen->stages[k - 1].after));
    }
    ASSERT_FALSE(s.after.empty());
    const std::string name = s.after[0].name;
    if (s.stage == "emit" || s.stage == "plan_memory" || s.stage == "build") {
      EXPECT_EQ(name, "unit_0.c");
    } else {
      EXPECT_EQ(name, k >= static_cast<size_t>(Stage::lower) - 1 ? "loops" : "clv");
    }
    if (name == "clv") { EXPECT_TRUE(parse(s.after[0].text, "", core()).ok()) << s.after[0].text; }
  }
  EXPECT_EQ(seen->stages.front().stage, "autocast");
  EXPECT_NE(seen->stages.front().before[0].text.find(" mm("), std::string::npos);
}

TEST(Observers, see_no_units_where_kernels_are_interpreted) {
  const auto seen = std::make_shared<Recorder>();
  compile(f, input, {.compiler = CompilerChoice::none, .observers = {seen}});
  EXPECT_EQ(seen->stages.back().stage, "build");
  EXPECT_TRUE(seen->stages.back().after.empty());
}

TEST(Observers, see_the_programs_of_a_training_step) {
  Generator rng(1);
  const nn::Linear model(4, 2, rng);
  const auto seen = std::make_shared<Recorder>();
  const TrainStep step =
      train_step(model, [&](const Tensor& x) { return mean(model(x)); }, optim::SGD({}),
                 {{"x", DType::f32, {3, 4}}}, {.compile = {.observers = {seen}}, .accumulate = 2});
  int64_t begun = 0;
  for (const Seen& s : seen->stages) begun += s.stage == "autocast";
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(step.report().stages.front().name, "autocast");
  EXPECT_EQ(seen->stages.size(), 2 * step.report().stages.size());
}

// No std::exception, so that nothing but `...` catches it.
struct Stop {
  std::string at;
};

// Throws at the place of this number, counting from 0.
struct Stopping : CompileObserver {
  explicit Stopping(int place) : left(place) {}
  int left;
  void count(std::string_view when, std::string_view stage) {
    if (left-- == 0) throw Stop{fmt::format("{} {}", when, stage)};
  }
  void before(std::string_view stage, const StageText&) override { count("before", stage); }
  void after(std::string_view stage, const StageText&) override { count("after", stage); }
};

size_t files_in(const std::filesystem::path& folder) {
  size_t out = 0;
  for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
    out += e.is_regular_file() && e.path().parent_path() != folder;
  return out;
}

TEST(Observers, end_the_compilation_at_any_place_and_leave_nothing) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("cleave_observers.{}", getpid());
  std::filesystem::remove_all(folder);
  CompileOptions options{.cache_dir = folder};
  const int places = 2 * static_cast<int>(Stage::build);  // all but grad, which a trace makes
  std::vector<std::string> stopped;
  for (int k = 0; k < places + 1; ++k) {
    options.observers = {std::make_shared<Stopping>(k)};
    try {
      compile(f, input, options);
    } catch (const Stop& stop) { stopped.push_back(stop.at); }
    // Units that the stage build has completed stay, and which compiler it is.
    if (k < places - 1) {
      EXPECT_LE(std::filesystem::exists(folder) ? files_in(folder) : 0, CLEAVE_HAVE_CLANG ? 1U : 0U)
          << stopped.back();
    }
  }
  ASSERT_EQ(static_cast<int>(stopped.size()), places);
  EXPECT_EQ(stopped.front(), "before autocast");
  EXPECT_EQ(stopped.back(), "after build");
  options.observers = {};
  CompiledFunction again = compile(f, input, options);
  HostTensor x(DType::f32, {8, 8});
  EXPECT_TRUE(again.run({x})[0].same_bits(compile(f, input).run({x})[0]));
  std::filesystem::remove_all(folder);
}

// The model and the store are then as good as before.
TEST(Observers, end_a_training_step_at_any_place) {
  const auto loss_of = [](bool stops_before) {
    Generator rng(1);
    const nn::Sequential model(nn::Linear(4, 8, rng), nn::Dropout(0.5), nn::Linear(8, 1, rng));
    const Store store;
    const auto made = [&](const CompileOptions& options) {
      return train_step(
          model, [&](const Tensor& x) { return mean(square(model(x))); }, optim::Adam({}),
          {{"x", DType::f32, {6, 4}}}, {.compile = options}, store);
    };
    for (int k = 0; stops_before && k < 2 * static_cast<int>(Stage::build); k += 5)
      EXPECT_THROW(made({.observers = {std::make_shared<Stopping>(k)}}), Stop) << k;
    TrainStep step = made({});
    step.run({rng.normal({6, 4})});
    return step.run({rng.normal({6, 4})}).loss;
  };
  EXPECT_EQ(loss_of(true), loss_of(false));
}

// An Error, too, arrives as it was thrown: without the places and sizes that cleave's own name.
TEST(Observers, end_the_program_for_other_sizes) {
  struct Refusing : CompileObserver {
    bool refuses = false;
    void before(std::string_view stage, const StageText&) override {
      if (refuses && stage == "lower") throw Error(ErrorKind::unsupported, "mine");
    }
  };
  const auto observer = std::make_shared<Refusing>();
  CompiledFunction twice =
      compile([](const Tensor& x) { return x * 2.0; }, {{"x", DType::f32, {dyn("N", 1, 9)}}},
              {.observers = {observer}});
  const HostTensor two = HostTensor::from<float>({1, 2});
  observer->refuses = true;
  try {
    twice.run({two});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_EQ(std::string(e.what()), "mine");
  }
  observer->refuses = false;
  EXPECT_EQ(twice.run({two})[0].at<float>({1}), 4);
  EXPECT_EQ(twice.report().count("sizes"), 1);
  EXPECT_EQ(twice.report().count("recompiles"), 0);
}

TEST(Observers, that_are_null_are_refused) {
  const std::string text = message([] { compile(f, input, {.observers = {nullptr}}); });
  EXPECT_NE(text.find("observers: number 0 is null"), std::string::npos) << text;
}

TEST(Report, of_each_stage) {
  const CompiledFunction made =
      compile([](const Tensor& x) { return sum(relu(relu(x)), {0}) + softmax(x, 1); }, input);
  std::map<std::string, CompileStage> rows;
  for (const CompileStage& row : made.report().stages) rows[row.name] = row;
  EXPECT_EQ(rows.at("verify").edits, 0);
  EXPECT_EQ(rows.at("verify").inferred, 0);
  EXPECT_GT(rows.at("decompose").edits, 0);  // of the softmax
  EXPECT_GT(rows.at("decompose").inferred, 0);
  EXPECT_GE(rows.at("decompose").edits, rows.at("decompose").inferred);
  EXPECT_EQ(rows.at("emit").edits, 0);
  double ms = 0;
  for (const auto& [name, row] : rows) ms += row.ms;
  EXPECT_NEAR(ms, made.report().compile_ms, 1e-6);
}

// A stage that makes another graph counts what made that.
TEST(Report, of_a_stage_that_makes_another_graph) {
  Graph g = test::parsed(
      "graph @main(%x: input f32[4] grad) {\n  %y = sin(%x)\n  %z = sum(%y)\n  return %z\n}\n");
  StageOptions options;
  options.grad = true;
  Report report;
  value_or_throw(run_stages(Stage::grad, Stage::grad, g, core(), options, &report));
  EXPECT_GE(report.stages.at(0).edits, static_cast<int64_t>(g.node_count()));
  EXPECT_GE(report.stages.at(0).inferred, static_cast<int64_t>(g.node_count()));
}

TEST(Report, of_the_program) {
  const Report report = compile([](const Tensor& x) { return relu(relu(x)); }, input).report();
  EXPECT_EQ(report.direction, "inference");
  EXPECT_EQ(report.moved_bytes, 2 * 8 * 8 * 4);  // one kernel reads x and writes the result
  EXPECT_GE(report.count("passes"), 1);
  EXPECT_EQ(report.count("cache"), 0);
  Graph joint =
      test::parsed("graph @main(%x: input f32[4] grad) {\n  %y = sin(%x)\n  return %y\n}\n");
  StageOptions options;
  options.grad = true;
  value_or_throw(run_stages(Stage::grad, Stage::grad, joint, core(), options));
  const auto program = value_or_throw(CompiledProgram::compile(joint, core(), options));
  EXPECT_EQ(program->report().direction, "training");
}

}  // namespace
}  // namespace cleave
