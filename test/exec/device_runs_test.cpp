// Runs of an instance on a device: as a graph of its calls, and two at a time unwaited.
#include "exec/device_runs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exec/executable.h"
#include "ir/strides.h"
#include "test/exec/step_text.h"
#include "test/random_inputs.h"
#include "test/sample/fake_device.h"

namespace cleave {
namespace {

using test::core;
using test::FakeDevice;
using test::loop_text;
using test::parsed;
using test::step_text;

std::unique_ptr<Instance> instance(const std::string& text, std::shared_ptr<Backend> backend,
                                   CudaGraphs graphs = CudaGraphs::automatic) {
  StageOptions options;
  options.executor = make_thread_pool(2);
  options.backend = std::move(backend);
  options.cudagraphs = graphs;
  const auto program = value_or_throw(CompiledProgram::compile(parsed(text), core(), options));
  return value_or_throw(Instance::make(program, options.executor));
}

using Counts = std::vector<int64_t>;  // recorded, launched, skipped
Counts counts(const Instance& run) {
  const GraphCounts& c = run.graph_counts();
  return {c.recorded, c.launched, c.skipped};
}

// A run that was started; its sums' first element.
struct Sums final : StartedRun {
  explicit Sums(const Instance& run) : run(run) {}
  void ended(const Status& s) override {
    ++ends;
    status = s;
    if (s.ok()) first = *static_cast<const float*>(run.ended_result(0));
  }
  const Instance& run;
  int ends = 0;
  Status status;
  float first = 0;
};

// step_text with its table on the device, or the CPU's.
struct Table {
  std::vector<float> w = std::vector<float>(300 * 40, 1.0f);
  std::vector<int64_t> i = {0, 299, 7, 3, 3};
  float lr = 0.5f;
  DeviceBlock block;
  std::unique_ptr<Instance> run;

  explicit Table(std::shared_ptr<Backend> backend, CudaGraphs graphs = CudaGraphs::automatic)
      : run(instance(step_text, std::move(backend), graphs)) {
    if (run->device_memory())
      move();
    else
      EXPECT_TRUE(run->bind(0, std::span(w)).ok());
    EXPECT_TRUE(run->bind(1, std::span(i)).ok() && run->bind(2, std::span(&lr, 1)).ok());
  }
  int64_t bytes() const { return static_cast<int64_t>(w.size() * sizeof(float)); }
  // To a new block, with what w has.
  void move() {
    const auto& memory = run->device_memory();
    DeviceBlock next = value_or_throw(DeviceBlock::make(memory, bytes()));
    EXPECT_TRUE(memory->copy_in(next.data(), w.data(), bytes(), nullptr).ok());
    EXPECT_TRUE(run->bind_there(0, next.data(), bytes()).ok());
    std::swap(block, next);
  }
  // Of a table with as many runs as `k` before.
  void draw(int k) {
    for (size_t n = 0; n < i.size(); ++n) i[n] = (static_cast<int64_t>(n) * 31 + 7 * k) % 300;
    lr = 0.25f * static_cast<float>(k % 3);
  }
  const std::vector<float>& table() {
    if (!run->device_memory()) return w;
    EXPECT_TRUE(run->settle().ok());
    EXPECT_TRUE(run->device_memory()->copy_out(w.data(), block.data(), bytes(), nullptr).ok());
    return w;
  }
};

TEST(DeviceRuns, are_a_graph_from_the_second_run_with_the_same_pointers_on) {
  FakeDevice device;
  Table here(nullptr), there(device.backend);
  for (int k = 0; k < 5; ++k) {
    here.draw(k);
    there.draw(k);  // the indices and the rate, a scalar, change between runs
    ASSERT_TRUE(here.run->run().ok() && there.run->run().ok());
    EXPECT_EQ(static_cast<const float*>(there.run->result(0))[39],
              static_cast<const float*>(here.run->result(0))[39]);
    const FakeDevice::Graphs g = device.graphs();
    EXPECT_EQ(g.noted, k == 1);
    EXPECT_EQ(g.launched, k > 0);
  }
  EXPECT_EQ(counts(*there.run), (Counts{1, 4, 0}));
  EXPECT_EQ(there.table(), here.table());
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceRuns, an_operand_that_has_moved_is_noted_again) {
  FakeDevice device;
  Table here(nullptr), there(device.backend);
  for (int k = 0; k < 9; ++k) {
    if (k == 3 || k == 6) {
      there.table();
      there.move();
    }
    here.draw(k);
    there.draw(k);
    ASSERT_TRUE(here.run->run().ok() && there.run->run().ok());
  }
  EXPECT_EQ(counts(*there.run), (Counts{3, 6, 0}));
  EXPECT_EQ(there.table(), here.table());
}

TEST(DeviceRuns, started_ones_return_before_the_device_has_begun) {
  FakeDevice device;
  Table there(device.backend);
  std::vector<std::shared_ptr<Sums>> sums;
  const auto start = [&] {
    sums.push_back(std::make_shared<Sums>(*there.run));
    ASSERT_TRUE(there.run->start(sums.back()).ok());
  };
  start();
  start();
  EXPECT_EQ(device.calls(), 0);
  EXPECT_EQ(sums[0]->ends, 0);
  start();  // waits for the first alone
  const int64_t calls = device.calls();
  EXPECT_GT(calls, 0);
  EXPECT_EQ(sums[0]->ends, 1);
  EXPECT_EQ(sums[1]->ends, 0);
  there.run->use()->wait_for(*sums[1]);
  EXPECT_EQ(device.calls(), 2 * calls);
  EXPECT_EQ(sums[2]->ends, 0);
  ASSERT_TRUE(there.run->settle().ok());
  EXPECT_EQ(device.calls(), 3 * calls);
  EXPECT_EQ(sums[2]->ends, 1);
}

TEST(DeviceRuns, started_ones_have_the_bits_of_others_and_copies_of_their_inputs) {
  for (const CudaGraphs graphs : {CudaGraphs::automatic, CudaGraphs::off}) {
    FakeDevice device;
    Table here(nullptr), there(device.backend, graphs);
    std::vector<float> want;
    std::vector<std::shared_ptr<Sums>> sums;
    for (int k = 0; k < 10; ++k) {
      here.draw(k);
      ASSERT_TRUE(here.run->run().ok());
      want.push_back(*static_cast<const float*>(here.run->result(0)));
      there.draw(k);
      sums.push_back(std::make_shared<Sums>(*there.run));
      ASSERT_TRUE(there.run->start(sums.back()).ok());
      there.draw(k + 100);  // what is copied already
    }
    ASSERT_TRUE(there.run->settle().ok());
    for (size_t k = 0; k < sums.size(); ++k) {
      EXPECT_EQ(sums[k]->first, want[k]) << k;
      EXPECT_EQ(sums[k]->ends, 1);
    }
    EXPECT_EQ(there.table(), here.table());
    // One for each turn, whose first run isn't noted.
    EXPECT_EQ(counts(*there.run),
              graphs == CudaGraphs::off ? Counts({0, 0, 0}) : Counts({2, 8, 0}));
    EXPECT_EQ(device.wrong(), "");
  }
}

// It has one block for all turns.
TEST(DeviceRuns, a_constant_that_is_bound_again_waits_for_those_that_read_it) {
  FakeDevice device;
  Table there(device.backend);
  std::vector<std::shared_ptr<Sums>> sums;
  std::vector<float> want = there.w;
  for (int k = 0; k < 4; ++k) {
    const float lr = static_cast<float>(k + 1);
    ASSERT_TRUE(there.run->bind(2, {&there.lr, 4, DType::f32, /*is_constant=*/true}).ok());
    there.lr = lr;
    sums.push_back(std::make_shared<Sums>(*there.run));
    ASSERT_TRUE(there.run->start(sums.back()).ok());
    float sum = 0;
    for (const int64_t row : there.i) sum += want[static_cast<size_t>(row) * 40];
    for (float& w : want) w -= sum * lr;
  }
  EXPECT_EQ(there.table(), want);
}

// Three runs, of which the second one fails; all are queued before anybody waits.
struct Failing {
  FakeDevice device;
  Table here{nullptr}, there{device.backend};
  std::vector<std::shared_ptr<Sums>> sums;
  std::string said;  // by the CPU

  // As many good ones before, so that the failing one is a graph.
  explicit Failing(int before) {
    for (int k = 0; k <= before; ++k) {
      here.draw(k);
      there.draw(k);
      EXPECT_TRUE(here.run->run().ok());
      start();
    }
    here.i[4] = there.i[4] = 300;
    said = here.run->run().failure().message;
    start();
    here.draw(1);
    there.draw(1);
  }
  void start() {
    sums.push_back(std::make_shared<Sums>(*there.run));
    EXPECT_TRUE(there.run->start(sums.back()).ok());
  }
  Sums& failed() { return *sums[sums.size() - 2]; }
  Sums& behind() { return *sums.back(); }
};

TEST(DeviceRuns, behind_one_that_fails_the_next_changes_nothing_and_fails_with_its_words) {
  for (const int before : {0, 5}) {
    Failing f(before);
    f.start();
    f.there.run->use()->wait_for(f.behind());
    EXPECT_NE(f.said.find("%i[4]"), std::string::npos) << f.said;
    ASSERT_FALSE(f.failed().status.ok());
    EXPECT_EQ(f.failed().status.failure().message, f.said);
    ASSERT_FALSE(f.behind().status.ok());
    EXPECT_EQ(f.behind().status.failure().message, f.said);
    EXPECT_EQ(f.there.table(), f.here.table());
    // Somebody was told, so they go on.
    ASSERT_TRUE(f.here.run->run().ok() && f.there.run->run().ok());
    EXPECT_EQ(f.there.table(), f.here.table());
    EXPECT_EQ(f.device.wrong(), "");
  }
}

TEST(DeviceRuns, a_failure_is_told_once_by_whoever_waits_first) {
  for (const char* by : {"run", "start", "settle", "result"}) {
    Failing f(0);
    f.start();
    const std::string which = by;
    Instance& run = *f.there.run;
    const auto ask = [&]() -> Status {
      if (which == "run") return run.run();
      if (which == "start") return run.start(std::make_shared<Sums>(run));
      if (which == "settle") return run.settle();
      try {
        run.result(0);
      } catch (const Error& e) { return user_error("{}", e.what()); }
      return {};
    };
    const Status told = ask();
    ASSERT_FALSE(told.ok()) << by;
    EXPECT_EQ(told.failure().message, f.said);
    EXPECT_TRUE(run.settle().ok());
    EXPECT_EQ(f.behind().ends, 1);
    EXPECT_EQ(f.there.table(), f.here.table()) << by;  // nor was another one run
  }
}

TEST(DeviceRuns, are_waited_for_when_the_instance_ends) {
  FakeDevice device;
  std::shared_ptr<DeviceUse> use;
  std::shared_ptr<Sums> sums;
  {
    Table there(device.backend);
    use = there.run->use();
    sums = std::make_shared<Sums>(*there.run);
    ASSERT_TRUE(there.run->start(sums).ok());
    EXPECT_EQ(sums->ends, 0);
  }
  EXPECT_EQ(sums->ends, 1);
  EXPECT_TRUE(use->settle().ok());
  use->wait_for(*sums);
}

// Its memory of the host must have the update when it returns.
TEST(DeviceRuns, an_update_of_the_hosts_memory_is_waited_for_and_noted) {
  FakeDevice device;
  auto run = instance(R"(graph @main(%b: buffer f32[100]) {
    %n = add(%b; other=1.0)
    return %n -> %b
  })",
                      device.backend);
  std::vector<float> b(100);
  ASSERT_TRUE(run->bind(0, std::span(b)).ok());
  for (int k = 1; k <= 4; ++k) {
    struct Ended final : StartedRun {
      void ended(const Status& s) override { is_ok = s.ok(); }
      bool is_ok = false;
    };
    const auto ended = std::make_shared<Ended>();
    ASSERT_TRUE(run->start(ended).ok());
    EXPECT_TRUE(ended->is_ok);
    EXPECT_EQ(b[99], static_cast<float>(k));
  }
  EXPECT_EQ(counts(*run), (Counts{1, 3, 0}));
}

// It is copied as the bytes that it reaches over, each once.
TEST(DeviceRuns, an_input_that_overlaps_itself_is_noted) {
  FakeDevice device;
  auto run = instance(R"(graph @main(%x: input f32[3,4]{1,1}, %y: input f32[2,5]{0,1}) {
    %s = sum(%x; dim=[1])
    %t = sum(%y; dim=[1])
    return %s, %t
  })",
                      device.backend);
  std::vector<float> x(6), y(5);
  ASSERT_TRUE(run->bind(0, std::span(x)).ok() && run->bind(1, std::span(y)).ok());
  for (int k = 0; k < 4; ++k) {
    for (size_t n = 0; n < x.size(); ++n) x[n] = static_cast<float>(n) + static_cast<float>(k);
    y.assign(5, static_cast<float>(k));
    device.copies();
    ASSERT_TRUE(run->run().ok());
    EXPECT_EQ(device.copies().in_bytes, (6 + 5) * 4);
    const auto* s = static_cast<const float*>(run->result(0));
    EXPECT_EQ(s[0], static_cast<float>(6 + 4 * k));
    EXPECT_EQ(s[2], static_cast<float>(14 + 4 * k));
    EXPECT_EQ(static_cast<const float*>(run->result(1))[1], static_cast<float>(5 * k));
  }
  EXPECT_EQ(counts(*run), (Counts{1, 3, 0}));
}

TEST(DeviceRuns, memory_that_is_given_up_is_noted) {
  FakeDevice device;
  auto run = instance("graph @main(%x: input f32[50]) {\n  %y = exp(%x)\n  return %y\n}\n",
                      device.backend);
  const Instance::Release release = [](size_t) { return true; };
  for (int k = 0; k < 4; ++k) {
    std::vector<float> x(50, static_cast<float>(k));
    ASSERT_TRUE(run->bind(0, std::span(x)).ok());
    ASSERT_TRUE(run->run(&release).ok());
    EXPECT_EQ(static_cast<const float*>(run->result(0))[49], std::exp(static_cast<float>(k)));
    EXPECT_FALSE(run->run().ok());  // it is gone
  }
  EXPECT_EQ(counts(*run), (Counts{1, 3, 0}));
}

// ---- why runs are no graph

constexpr const char* product_text = R"(graph @main(%x: input f32[8,8]) {
    %y = mm(%x, %x)
    return %y
  })";

struct Product {
  std::vector<float> x = std::vector<float>(64, 0.5f);
  std::unique_ptr<Instance> run;
  explicit Product(std::shared_ptr<Backend> backend, CudaGraphs graphs = CudaGraphs::automatic)
      : run(instance(product_text, std::move(backend), graphs)) {
    EXPECT_TRUE(run->bind(0, std::span(x)).ok());
  }
  void run_times(int times) const {
    for (int k = 0; k < times; ++k) {
      ASSERT_TRUE(run->run().ok());
      EXPECT_EQ(static_cast<const float*>(run->result(0))[63], 2.0f);
    }
  }
};

TEST(DeviceRuns, skip_graphs_on_the_cpu) {
  const Product silent(nullptr), asked(nullptr, CudaGraphs::on);
  silent.run_times(2);
  asked.run_times(2);
  EXPECT_EQ(counts(*silent.run), (Counts{0, 0, 0}));
  EXPECT_EQ(counts(*asked.run), (Counts{0, 0, 2}));
  EXPECT_EQ(skip_text(asked.run->graph_counts().reason),
            "skipping cudagraphs due to cpu device (%x)");
}

TEST(DeviceRuns, skip_graphs_where_the_host_reads_a_flag) {
  FakeDevice device;
  auto run = instance(loop_text, device.backend);
  int64_t k = 2;
  std::vector<float> x(3, 1.0f);
  ASSERT_TRUE(run->bind(0, std::span(&k, 1)).ok() && run->bind(1, std::span(x)).ok());
  ASSERT_TRUE(run->run().ok() && run->run().ok());
  EXPECT_EQ(static_cast<const float*>(run->result(1))[2], 8.0f);
  EXPECT_EQ(counts(*run), (Counts{0, 0, 2}));
  EXPECT_EQ(run->graph_counts().reason.substr(0, 26), "incompatible op while_loop");
}

TEST(DeviceRuns, skip_graphs_where_a_call_waits_or_allocates) {
  FakeDevice device;
  device.set_library_waits(true);
  const Product product(device.backend);
  product.run_times(4);
  EXPECT_EQ(counts(*product.run), (Counts{0, 0, 3}));  // the first one is never noted
  EXPECT_EQ(product.run->graph_counts().reason,
            "incompatible op %y: the queue is waited for while its calls are noted");
  EXPECT_EQ(device.graphs().launched, 0);
}

TEST(DeviceRuns, skip_graphs_where_the_device_notes_nothing) {
  FakeDevice device;
  device.set_notes(false);
  const Product product(device.backend);
  product.run_times(3);
  EXPECT_EQ(counts(*product.run), (Counts{0, 0, 2}));
  EXPECT_EQ(product.run->graph_counts().reason, "incompatible op: this device notes nothing");
}

TEST(DeviceRuns, skip_graphs_where_that_is_asked_for) {
  FakeDevice device;
  const Product off(device.backend, CudaGraphs::off), told(device.backend);
  off.run_times(3);
  EXPECT_EQ(counts(*off.run), (Counts{0, 0, 0}));
  told.run_times(3);
  told.run->skip_graphs("too many sizes (51)");
  told.run_times(2);
  EXPECT_EQ(counts(*told.run), (Counts{1, 2, 2}));
  EXPECT_EQ(told.run->graph_counts().reason, "too many sizes (51)");
}

TEST(DeviceRuns, are_waited_for_call_by_call_while_they_are_timed) {
  FakeDevice device;
  const Product product(device.backend);
  product.run_times(3);
  product.run->profile_kernels(true);
  product.run_times(2);
  product.run->profile_kernels(false);
  product.run_times(2);
  EXPECT_EQ(counts(*product.run), (Counts{1, 4, 0}));
}

}  // namespace
}  // namespace cleave
