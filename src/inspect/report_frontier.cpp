// What memory costs in time: of the cut in all modes, and of whole programs.
#include <algorithm>

#include "inspect/axis.h"
#include "inspect/report.h"

namespace cleave {
namespace {

// By their true peaks: the programs of a training step or joint graph.
void add_programs(HtmlPage& page, const ReportData& data) {
  page.heading("Whole programs");
  page.note(
      "Programs that a memory budget chooses among: the peak is exact, the time is that of "
      "the calls that run again, by the table of costs.");
  TradeLine line{.name = "programs", .colour = "#1f77b4", .points = {}};
  for (const ProgramTrade& t : data.program_trades)
    line.points.push_back({t.peak_bytes, t.recompute_ns, ""});
  std::vector<TradeLine> lines = {std::move(line)};
  if (data.compiled.planned_peak_bytes > 0)
    lines.push_back({.name = "this one",
                     .colour = "#9467bd",
                     .points = {{data.compiled.planned_peak_bytes, data.compiled.recompute_ns, ""}},
                     .line = false,
                     .large = true});
  page.add(html_drawing(trade_chart("Peak against time", lines, "at the peak")));
  HtmlTable table(
      {{"peak", Cell::number}, {"of the largest", Cell::bar}, {"runs again", Cell::number}});
  const double most = static_cast<double>(data.program_trades[0].peak_bytes);
  for (const ProgramTrade& t : data.program_trades) {
    const double share = static_cast<double>(t.peak_bytes) / most;
    table.row(
        {bytes_text(t.peak_bytes), fmt::format("{:.1f}%", 100 * share), time_text(t.recompute_ns)},
        share);
  }
  page.add(table.finish(20));
}

}  // namespace

void add_frontier(HtmlPage& page, const ReportData& data) {
  page.section("frontier", "Frontier");
  if (data.cut && !data.cut->trades.empty()) {
    page.note(
        "Each point is a cut of the joint graph: what the forward saves for the backward, "
        "against the time of what runs again. Below the dashed line there is no cut.");
    page.add(html_drawing(trade_chart("Saved bytes against time", data.cut->trades)));
  }
  if (!data.program_trades.empty()) add_programs(page, data);
  if ((!data.cut || data.cut->trades.empty()) && data.program_trades.empty())
    page.note("There is none to show: the graph has no backward, or is too large (see Warnings).");
}

}  // namespace cleave
