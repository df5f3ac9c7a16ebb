// Which calls are compiled, and by which stages and passes.
#include <algorithm>

#include "inspect/axis.h"
#include "inspect/report.h"

namespace cleave {
namespace {

void add_stages(HtmlPage& page, const Report& report) {
  if (report.stages.empty()) return;
  page.heading("Stages of the compilation");
  double most = 0;
  for (const CompileStage& s : report.stages) most = std::max(most, s.ms);
  HtmlTable table({{"stage", Cell::name},
                   {"time", Cell::bar},
                   {"calls after it", Cell::number},
                   {"edits", Cell::number}});
  for (const CompileStage& s : report.stages)
    table.row({s.name, fmt::format("{:.2f} ms", s.ms), fmt::format("{}", s.nodes),
               fmt::format("{}", s.edits)},
              most > 0 ? s.ms / most : 0);
  page.add(table.finish(40));
}

void add_passes(HtmlPage& page, const Report& report) {
  HtmlTable table({{"pass", Cell::name}, {"matches", Cell::number}, {"calls", Cell::number}});
  for (const CompilePass& p : report.passes)
    if (p.matches > 0)
      table.row({p.name, fmt::format("{}", p.matches), fmt::format("{}", p.nodes)});
  if (table.rows() == 0) return;
  page.heading("Passes that rewrote something");
  page.add(table.finish(20));
}

}  // namespace

void add_coverage(HtmlPage& page, const ReportData& data) {
  page.section("coverage", "Coverage");
  int64_t calls = 0, compiled = 0;
  for (const CoveredOperator& c : data.coverage) calls += c.calls, compiled += c.compiled;
  page.note(fmt::format(
      "{} of {} calls are compiled ({:.1f}%){}.", compiled, calls,
      calls == 0 ? 100.0 : 100.0 * static_cast<double>(compiled) / static_cast<double>(calls),
      data.kernels.empty() ? "" : fmt::format("; they run as {} steps", data.kernels.size())));
  // What isn't compiled first.
  std::vector<CoveredOperator> order = data.coverage;
  std::ranges::stable_sort(order, std::greater(), [](const CoveredOperator& c) {
    return std::pair(c.calls > c.compiled, c.calls);
  });
  HtmlTable table({{"operator", Cell::name},
                   {"calls", Cell::bar},
                   {"compiled", Cell::number},
                   {"why the others aren't"}});
  for (const CoveredOperator& c : order)
    table.row({c.op, fmt::format("{}", c.calls), fmt::format("{}", c.compiled), c.reason},
              calls > 0 ? static_cast<double>(c.calls) / static_cast<double>(calls) : 0);
  page.add(table.finish(20));
  add_stages(page, data.compiled);
  add_passes(page, data.compiled);
}

}  // namespace cleave
