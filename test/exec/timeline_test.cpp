// The timeline of compilations and runs: its spans nest, name stages, steps and threads, and a run
// that is watched computes the same.
#include "cleave/timeline.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cleave/cleave.h"
#include "runtime/alloc_watch.h"

namespace cleave {
namespace {

struct Event {
  std::string name, cat;
  double begin = 0, end = 0;
  int tid = 0, pieces = 0;
  bool contains(const Event& e) const { return tid == e.tid && begin <= e.begin && e.end <= end; }
};

std::vector<Event> events_of(const Timeline& timeline) {
  const auto json = nlohmann::json::parse(timeline.text());
  std::vector<Event> out;
  for (const auto& e : json["traceEvents"]) {
    if (e["ph"] != "X") continue;
    const double begin = e["ts"];
    out.push_back({e["name"], e["cat"], begin, begin + e["dur"].get<double>(), e["tid"],
                   e.contains("args") ? e["args"]["pieces"].get<int>() : 0});
  }
  return out;
}

std::vector<Event> of_kind(const std::vector<Event>& events, const std::string& cat) {
  std::vector<Event> out;
  for (const Event& e : events)
    if (e.cat == cat) out.push_back(e);
  return out;
}

// A product, and a kernel of many pieces.
CompiledFunction layer(const Timeline& timeline) {
  return compile([](const Tensor& x, const Tensor& w) { return tanh(matmul(x, w)).named("h"); },
                 {{"x", DType::f32, {512, 64}}, {"w", DType::f32, {64, 512}}},
                 {.executor = timeline.executor(), .observers = {timeline.observer()}});
}

HostTensors ones() {
  HostTensors out;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{512, 64}, {64, 512}}) {
    HostTensor& t = out.emplace_back(DType::f32, shape);
    for (int64_t k = 0; k < t.numel(); ++k) t.set_number(k, 0.01 * static_cast<double>(k % 7));
  }
  return out;
}

TEST(Timeline, names_stages_runs_steps_and_threads) {
  Timeline timeline(make_thread_pool(3));
  CompiledFunction f = layer(timeline);
  for (int k = 0; k < 4; ++k) f.run({ones()[0], ones()[1]});
  const std::vector<Event> events = events_of(timeline);
  std::set<std::string> stages;
  for (const Event& e : of_kind(events, "stage")) stages.insert(e.name);
  for (const char* stage : {"verify", "fuse", "lower", "schedule", "plan_memory", "build"})
    EXPECT_TRUE(stages.contains(stage)) << stage;
  EXPECT_EQ(of_kind(events, "run").size(), 4U);
  EXPECT_EQ(of_kind(events, "product").size(), 4U);
  ASSERT_EQ(of_kind(events, "kernel").size(), 4U);
  EXPECT_EQ(of_kind(events, "kernel")[0].name, "%h");
  int pieces = 0;
  for (const Event& e : of_kind(events, "pieces"))
    if (e.name == "%h") pieces += e.pieces;
  EXPECT_GE(pieces, 4 * 2);  // each is in one span of one thread
  EXPECT_EQ(pieces % 4, 0);
  EXPECT_EQ(timeline.spans().size(), events.size());
  EXPECT_EQ(timeline.dropped(), 0);
}

TEST(Timeline, spans_nest_or_do_not_meet) {
  Timeline timeline(make_thread_pool(3));
  CompiledFunction f = layer(timeline);
  for (int k = 0; k < 4; ++k) f.run({ones()[0], ones()[1]});
  const std::vector<Event> events = events_of(timeline);
  for (const Event& a : events)
    for (const Event& b : events)
      EXPECT_TRUE(a.tid != b.tid || a.contains(b) || b.contains(a) || a.end <= b.begin ||
                  b.end <= a.begin)
          << a.name << " and " << b.name;
  const std::vector<Event> runs = of_kind(events, "run");
  for (const std::string cat : {"kernel", "product"})
    for (const Event& e : of_kind(events, cat))
      EXPECT_EQ(std::ranges::count_if(runs, [&](const Event& r) { return r.contains(e); }), 1);
  // A piece runs while its step does, on whichever thread.
  for (const Event& p : of_kind(events, "pieces")) {
    if (p.name[0] != '%') continue;  // of a stage
    EXPECT_TRUE(std::ranges::any_of(events, [&](const Event& e) {
      return e.cat != "pieces" && e.name == p.name && e.begin <= p.begin && p.end <= e.end;
    })) << p.name;
  }
}

TEST(Timeline, a_watched_run_has_the_same_bits_and_allocates_nothing) {
  Timeline timeline(make_thread_pool(2));
  CompiledFunction watched = layer(timeline);
  CompiledFunction plain = layer(Timeline(make_thread_pool(2)));
  const HostTensors in = ones();
  const InputRef refs[] = {in[0], in[1]};
  watched.run_in_place(refs);
  runtime::AllocWatch watch;
  watch.start();
  watched.run_in_place(refs);
  EXPECT_EQ(watch.stop().allocations, 0);
  const HostTensor a = watched.output(0), b = plain.run({in[0], in[1]})[0];
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.numel()) * 4), 0);
}

TEST(Timeline, a_run_that_fails_leaves_no_span_open) {
  Timeline timeline(make_thread_pool(2));
  CompiledFunction f = compile([](const Tensor& t, const Tensor& i) { return embedding(i, t); },
                               {{"t", DType::f32, {4, 2}}, {"i", DType::i64, {1}}},
                               {.executor = timeline.executor()});
  HostTensor bad(DType::i64, {1});
  bad.set_number(0, 9);
  EXPECT_THROW(f.run({HostTensor(DType::f32, {4, 2}), bad}), Error);
  bad.set_number(0, 3);
  f.run({HostTensor(DType::f32, {4, 2}), bad});
  const std::vector<Event> runs = of_kind(events_of(timeline), "run");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_LE(runs[0].end, runs[1].begin);
}

TEST(Timeline, keeps_the_first_spans_and_counts_the_others) {
  Timeline timeline(make_thread_pool(1), 3);
  CompiledFunction f = layer(timeline);
  f.run({ones()[0], ones()[1]});
  EXPECT_EQ(timeline.spans().size(), 3U);
  EXPECT_GT(timeline.dropped(), 3);
  EXPECT_EQ(events_of(timeline).size(), 3U);
  EXPECT_EQ(nlohmann::json::parse(timeline.text())["otherData"]["dropped_spans"],
            timeline.dropped());
}

TEST(Timeline, spans_of_the_host_program_may_have_any_name) {
  Timeline timeline(make_thread_pool(1));
  const auto now = Timeline::Clock::now();
  timeline.add("a\"b\\</script>\n", "mine", now, now + std::chrono::microseconds(1500));
  const std::vector<Event> events = events_of(timeline);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "a\"b\\</script>\n");
  EXPECT_EQ(events[0].cat, "mine");
  EXPECT_NEAR(events[0].end - events[0].begin, 1500, 1e-6);
}

TEST(Timeline, is_written_whole_and_refuses_what_it_can_not_do) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("timeline.{}", getpid());
  Timeline timeline(make_thread_pool(1));
  timeline.write(path);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), timeline.text());
  std::filesystem::remove(path);
  EXPECT_THROW(timeline.write("/no/such/folder/t.json"), Error);
  EXPECT_THROW(Timeline(nullptr, 0), Error);
  EXPECT_THROW(Timeline(nullptr, (int64_t{1} << 24) + 1), Error);
}

}  // namespace
}  // namespace cleave
