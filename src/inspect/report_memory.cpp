// Memory over the steps of the program, and what is in it at the peak.
#include "inspect/axis.h"
#include "inspect/memory_chart.h"
#include "inspect/report.h"

namespace cleave {
namespace {

void add_peak(HtmlPage& page, const ProgramMemory& memory) {
  page.heading(fmt::format("In the arena at the peak, step {}", memory.peak_step));
  HtmlTable table(
      {{"value", Cell::name}, {"bytes", Cell::bar}, {"is"}, {"made by"}, {"steps", Cell::number}});
  const double most = memory.at_peak.empty() ? 1 : static_cast<double>(memory.at_peak[0].bytes);
  for (const KeptStorage& s : memory.at_peak)
    table.row(
        {"%" + s.name, bytes_text(s.bytes), std::string(kept_names[static_cast<size_t>(s.kind)]),
         s.made_by, fmt::format("{} to {}", s.first, s.last)},
        static_cast<double>(s.bytes) / most);
  page.add(table.finish(15));
}

}  // namespace

void add_memory(HtmlPage& page, const ReportData& data) {
  page.section("memory", "Memory over time");
  if (!data.memory) return page.note("Not known: the graph has no program.");
  const MemoryProfile& profile = data.memory->profile;
  page.note(
      "What is alive at each step of the program, which is a kernel or a call of the library. "
      "Saved values are made before the backward begins and read after that.");
  page.add(html_drawing(memory_chart("One program", profile, data.budget)));
  add_peak(page, *data.memory);
  if (!data.cut || !data.cut->memory) return;
  page.heading("As two programs");
  page.note(
      "The same of the two halves of the cut below, run one after the other: what the "
      "forward saves is handed over.");
  page.add(html_drawing(memory_chart("Two halves", *data.cut->memory, {})));
}

}  // namespace cleave
