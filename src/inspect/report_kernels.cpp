// The kernels with what they move, and how fast.
#include <algorithm>
#include <map>

#include "inspect/axis.h"
#include "inspect/report.h"
#include "inspect/timeline_drawing.h"

namespace cleave {
namespace {

int64_t bytes_of(const ReportKernel& k) { return k.read + k.written; }

// Bytes per microsecond are megabytes per second.
std::string rate_text(double bytes, double us) {
  return us > 0 ? fmt::format("{:.2f} GB/s", bytes / us / 1e3) : "";
}

struct Sum {
  int64_t count = 0, bytes = 0, flops = 0;
  double us = 0;
};

void add_kinds(HtmlPage& page, const ReportData& data, double total_us) {
  std::map<std::string, Sum> kinds;
  for (const ReportKernel& k : data.kernels) {
    Sum& s = kinds[k.kind];
    ++s.count;
    s.bytes += bytes_of(k);
    s.flops += k.flops;
    s.us += k.us.value_or(0);
  }
  std::vector<std::pair<std::string, Sum>> order(kinds.begin(), kinds.end());
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto& k) { return std::pair(k.second.us, k.second.bytes); });
  HtmlTable table({{"kind"},
                   {"steps", Cell::number},
                   {"time", Cell::bar},
                   {"bytes", Cell::number},
                   {"bandwidth", Cell::number},
                   {"GFLOP/s", Cell::number}});
  for (const auto& [kind, s] : order)
    table.row(
        {kind, fmt::format("{}", s.count),
         total_us > 0 ? fmt::format("{:.1f} us, {:.1f}%", s.us, 100 * s.us / total_us) : "",
         bytes_text(s.bytes), rate_text(static_cast<double>(s.bytes), s.us),
         s.flops > 0 && s.us > 0 ? fmt::format("{:.1f}", static_cast<double>(s.flops) / s.us / 1e3)
                                 : ""},
        total_us > 0 ? s.us / total_us : 0);
  page.add(table.finish());
}

// The last run, on its threads.
void add_run(HtmlPage& page, const ReportData& data) {
  const std::vector<TimelinePart> parts = parts_of(data.spans);
  if (parts.empty()) return;
  page.heading("A run");
  page.add(html_drawing(timeline_drawing("When each step ran, and where", data.spans,
                                         parts.back().begin_ns, parts.back().end_ns)));
}

}  // namespace

void add_kernels(HtmlPage& page, const ReportData& data) {
  page.section("kernels", "Kernels");
  if (data.kernels.empty())
    return page.note("There are none: nothing is computed, or the graph has no program.");
  double total_us = 0, most_us = 0;
  int64_t most_bytes = 1;
  for (const ReportKernel& k : data.kernels) {
    total_us += k.us.value_or(0);
    most_us = std::max(most_us, k.us.value_or(0));
    most_bytes = std::max(most_bytes, bytes_of(k));
  }
  const bool timed = total_us > 0;
  if (timed)
    page.note(
        fmt::format("The steps of one run, the mean of {} on {} threads with made-up inputs. A "
                    "copy by the same "
                    "threads moves {:.1f} GB/s; what lies in a cache may be faster.",
                    data.runs, data.threads, data.copy_bytes_per_us / 1e3));
  else
    page.note("Nothing was timed (--time 0).");
  add_kinds(page, data, total_us);
  add_run(page, data);
  page.heading(timed ? "Longest first" : "In the program's order");
  std::vector<const ReportKernel*> order;
  for (const ReportKernel& k : data.kernels) order.push_back(&k);
  if (timed)
    std::ranges::stable_sort(order, std::greater(),
                             [](const ReportKernel* k) { return k->us.value_or(0); });
  std::vector<Column> columns = {
      {"first value", Cell::name}, {"kind"}, {"reads", Cell::number}, {"writes", Cell::number}};
  if (timed) {
    columns.push_back({"time", Cell::bar});
    columns.push_back({"bandwidth", Cell::number});
    columns.push_back({"of a copy", Cell::number});
    columns.push_back({"GFLOP/s", Cell::number});
  }
  HtmlTable table(std::move(columns));
  for (const ReportKernel* k : order) {
    const double us = k->us.value_or(0), bytes = static_cast<double>(bytes_of(*k));
    std::vector<std::string> cells = {"%" + k->name, k->kind, bytes_text(k->read),
                                      bytes_text(k->written)};
    if (timed) {
      cells.push_back(fmt::format("{:.2f} us, {:.1f}%", us, 100 * us / total_us));
      cells.push_back(rate_text(bytes, us));
      cells.push_back(us > 0 && data.copy_bytes_per_us > 0
                          ? fmt::format("{:.0f}%", 100 * bytes / us / data.copy_bytes_per_us)
                          : "");
      cells.push_back(k->flops > 0 && us > 0
                          ? fmt::format("{:.1f}", static_cast<double>(k->flops) / us / 1e3)
                          : "");
    }
    table.row(cells, timed ? us / most_us : bytes / static_cast<double>(most_bytes));
  }
  page.add(table.finish(40));
}

}  // namespace cleave
