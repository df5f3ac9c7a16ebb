// The offset planner: height relative to the lower bound, and time, with limits for both. A row
// that misses one is marked, and the exit status is then 1.
//
//   bench_offsets [FOLDER]       with the public problems; default ../shared/data/plan
//
// A to K are from MiniMalloc (capacity 1048576), resnet50 and pangu_2.6B from the planners' papers;
// missing ones are named. The last row is a synthetic training step of a million buffers. Time is
// the thread's processor time, the minimum of several runs.
#include <fmt/format.h>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/timing.h"
#include "plan/offsets.h"
#include "test/plan/training_buffers.h"
#include "tool/buffer_table.h"

namespace cleave {
namespace {

struct Row {
  std::string name;
  int64_t capacity;  // below 0: as low as can be
  double max_over;   // percent over the lower bound; not asked with a capacity
  double max_seconds;
  int runs;
};

// False where the row misses a limit.
bool measure(const Row& row, const std::vector<plan::Lifetime>& buffers) {
  plan::OffsetOptions options{.capacity = row.capacity, .fit_mops = 20000, .search_mops = 4000};
  plan::Offsets plan;
  double seconds = 1e300;
  for (int i = 0; i < row.runs; ++i) {
    const double begin = bench::thread_seconds();
    plan = plan::plan_offsets(buffers, options);
    seconds = std::min(seconds, bench::thread_seconds() - begin);
  }
  value_or_throw(plan::verify_offsets(buffers, 1, plan));
  const double over = 100 * (static_cast<double>(plan.height) /
                                 static_cast<double>(std::max<int64_t>(1, plan.lower_bound)) -
                             1);
  const bool low = row.capacity < 0 ? over <= row.max_over : plan.height <= row.capacity;
  const std::string wanted =
      row.capacity < 0 ? fmt::format("{}% over", row.max_over) : fmt::format("{}", row.capacity);
  fmt::print("{:<16}{:>9}{:>13}{:>9.4f}%{:>14}{:>2}{:>10.3f}{:>8}{:>2}{}\n", row.name,
             buffers.size(), plan.height, over, wanted, low ? ' ' : '!', seconds, row.max_seconds,
             seconds <= row.max_seconds ? ' ' : '!', plan.optimal ? "  optimal" : "");
  return low && seconds <= row.max_seconds;
}

int run(const std::string& folder) {
  bool all = true;
  fmt::print("{:<16}{:>9}{:>13}{:>10}{:>14}  {:>10}{:>8}\n", "problem", "buffers", "height", "over",
             "limit", "seconds", "limit");
  std::vector<Row> rows;
  for (char c = 'A'; c <= 'K'; ++c)
    rows.push_back({fmt::format("{}.1048576", c), 1048576, 0, .5, 3});
  rows.push_back({"resnet50", -1, 0, .05, 5});
  rows.push_back({"pangu_2.6B", -1, .05, 2, 2});
  for (const Row& row : rows) {
    const std::string path = fmt::format("{}/{}.csv", folder, row.name);
    if (!std::filesystem::exists(path)) {
      fmt::print("{:<16} not measured: {} is missing\n", row.name, path);
      continue;
    }
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    all &= measure(row, value_or_throw(tool::parse_buffer_table(text, path)).buffers);
  }
  all &= measure({"training step", -1, .5, 30, 1}, training_buffers(1000000, 7));
  return all ? 0 : 1;
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
  try {
    return cleave::run(argc > 1 ? argv[1] : "../shared/data/plan");
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
