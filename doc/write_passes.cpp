// write_passes > doc/passes.md: the passes, from the table and their entries alone.
#include <algorithm>
#include <cstdio>
#include <set>

#include "pass/pipeline.h"

namespace cleave {
namespace {

constexpr const char* head =
    "# The passes\n\n"
    "Written by `make doc` from `src/pass/pipeline.cpp`. A pass is in `src/pass/STAGE/NAME.cpp`, "
    "its golden, "
    "which shows\neach rule at work, beside it in `NAME.clv`. The passes of one list run together "
    "until "
    "none of their rules fits.\n`cleave opt G.clv --pass NAME` runs one, `CompileOptions::"
    "passes_off` leaves it "
    "out. A rule marked ~ changes how results\nare rounded and is off under "
    "`CompileOptions::strict`; so are all of pre_grad where something is "
    "trained, as gradients\nwould be summed up in another order.\n";

constexpr const char* stage_text(PassStage stage) {
  switch (stage) {
    case PassStage::pre_grad: return "a forward graph, before its gradients are taken";
    case PassStage::joint: return "forward and backward in one graph, before the cut";
    case PassStage::freeze:
      return "in frozen programs, then: what is computed once leaves the graph";
    case PassStage::post_grad: return "the same, once no pass of joint has anything left";
    case PassStage::decomposed: return "calls that are lowered as they are";
  }
  return "";
}

std::string rules_of(const Pass& pass) {
  if (pass.run)
    return fmt::format(
        "a walk{}{}", pass.rounds ? " ~" : "",
        pass.assumes_open_rows ? ", but for rows that a mask closes altogether" : "");
  std::string out;
  for (const Rule& r : pass.rules)
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", r.name, r.rounds ? " ~" : "");
  return out;
}

// The lines of a table of settings, and the passes that have them, in the passes' order.
std::vector<std::pair<std::vector<std::string>, std::string>> passes_by_settings() {
  std::vector<std::pair<std::vector<std::string>, std::string>> out;
  for (const PassRow& row : pass_table()) {
    const Pass pass = row.pass();
    if (row.again || pass.settings.empty()) continue;
    std::vector<std::string> lines;
    for (const PassSetting& s : pass.settings)
      lines.push_back(fmt::format(" {} | {} | {} | {} |", s.name, s.value, s.least, s.what));
    const auto same = std::ranges::find(out, lines, [](const auto& entry) { return entry.first; });
    if (same == out.end())
      out.emplace_back(std::move(lines), pass.name);
    else
      same->second += ", " + pass.name;
  }
  return out;
}

void write_settings() {
  fmt::print(
      "\n## Settings\n\nNumbers that follow a pass's name where it is asked for: "
      "`passes_on=batch_linear:min_fuse_set_size:2`,\n`cleave opt G.clv --pass "
      "batch_linear:min_fuse_set_size:2`.\n\n| pass | setting | default | at least | what it is "
      "|\n|---|---|---|---|---|\n");
  for (const auto& [settings, passes] : passes_by_settings())
    for (const std::string& line : settings)
      fmt::print("| {} |{}\n", &line == &settings[0] ? passes : "", line);
}

void write() {
  fmt::print("{}", head);
  for (const PassStage stage : pass_stages) {
    fmt::print(
        "\n## {}: {}\n\n| list | pass | does | rules | why here | may assume |\n"
        "|---|---|---|---|---|---|\n",
        name_of(stage), stage_text(stage));
    for (const PassRow& row : pass_table()) {
      if (row.stage != stage) continue;
      const Pass pass = row.pass();
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", row.list, pass.name, pass.summary,
                 rules_of(pass), row.why, row.assumes);
    }
  }
  write_settings();
}

}  // namespace
}  // namespace cleave

int main() {
  cleave::write();
  return 0;
}
