#include "inspect/axis.h"
#include "inspect/report.h"

namespace cleave {

void add_warnings(HtmlPage& page, const ReportData& data) {
  page.section("warnings", "Warnings");
  if (data.compiled.warnings.empty()) page.note("Compiling gave none.");
  if (!data.compiled.warnings.empty()) {
    HtmlTable table({{"code", Cell::name}, {"text"}});
    for (const Warning& w : data.compiled.warnings) table.row({w.code, w.text});
    page.add(table.finish());
  }
  if (data.left_out.empty()) return;
  page.heading("What this page leaves out");
  for (const std::string& text : data.left_out) page.note(text);
}

std::string report_page(const ReportData& data) {
  const Graph& g = *data.graph;
  HtmlPage page(
      "@" + g.name(),
      fmt::format("{}, for {}{}", data.file, data.target,
                  data.compiled.graph_id.empty() ? "" : ", graph " + data.compiled.graph_id));
  page.tile(fmt::format("{}", g.node_count()), "calls");
  if (!data.kernels.empty()) page.tile(fmt::format("{}", data.kernels.size()), "steps of a run");
  if (data.memory)
    page.tile(bytes_text(data.memory->profile.planned_peak), "at the peak, as planned");
  if (data.run_us > 0) page.tile(time_text(static_cast<int64_t>(1e3 * data.run_us)), "a run");
  int64_t moved = 0;
  for (const ReportKernel& k : data.kernels) moved += k.read + k.written;
  if (moved > 0) page.tile(bytes_text(moved), "moved in a run");
  if (data.compiled.compile_ms > 0)
    page.tile(fmt::format("{:.0f} ms", data.compiled.compile_ms), "to compile");
  if (data.cut)
    page.tile(bytes_text(data.cut->partition->saved_activation_bytes), "saved activations");
  if (!data.compiled.warnings.empty())
    page.tile(fmt::format("{}", data.compiled.warnings.size()), "warnings");
  add_modules(page, data);
  add_memory(page, data);
  add_frontier(page, data);
  add_kernels(page, data);
  add_coverage(page, data);
  add_saved(page, data);
  add_warnings(page, data);
  return page.finish();
}

}  // namespace cleave
