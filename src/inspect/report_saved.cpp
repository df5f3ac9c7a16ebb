// Why each value is saved: of the cut, the rule that decided; of the program, who reads it.
#include <algorithm>

#include "inspect/axis.h"
#include "inspect/report.h"

namespace cleave {
namespace {

std::string count_text(int64_t n) { return n == 0 ? "" : fmt::format("{}", n); }
std::string bytes_or_none(int64_t n) { return n == 0 ? "" : bytes_text(n); }

void add_operators(HtmlPage& page, const ReportCut& cut) {
  page.heading("Calls of each operator");
  int64_t most = 1;
  for (const OperatorCount& c : cut.operators) most = std::max(most, c.forward + c.backward);
  HtmlTable table({{"operator", Cell::name},
                   {"calls", Cell::bar},
                   {"forward", Cell::number},
                   {"backward", Cell::number},
                   {"computed again", Cell::number}});
  for (const OperatorCount& c : cut.operators)
    table.row({c.op, fmt::format("{}", c.forward + c.backward), count_text(c.forward),
               count_text(c.backward), count_text(c.recomputed)},
              static_cast<double>(c.forward + c.backward) / static_cast<double>(most));
  page.add(table.finish(12));
}

void add_reasons(HtmlPage& page, const ReportCut& cut) {
  page.heading("What decided");
  HtmlTable table({{"rule"},
                   {"saved", Cell::number},
                   {"bytes", Cell::number},
                   {"computed again", Cell::number},
                   {"bytes", Cell::number}});
  for (const ReasonCount& r : cut.reasons)
    table.row({r.why, count_text(r.saved), bytes_or_none(r.saved_bytes), count_text(r.recomputed),
               bytes_or_none(r.recomputed_bytes)});
  page.add(table.finish(20));
}

void add_account(HtmlPage& page, const PytorchAccount& account) {
  page.heading("PyTorch's partitioner");
  page.note(fmt::format("The answer is {}.", name_of(account.step)));
  HtmlTable bans({{"ban"}, {"calls", Cell::number}});
  for (const auto& [rule, calls] : account.bans) bans.row({rule, fmt::format("{}", calls)});
  if (bans.rows() > 0) page.add(bans.finish(20));
  if (account.items.empty()) return;
  int64_t kept = 0;
  for (const PytorchAccount::Item& i : account.items) kept += i.kept ? i.bytes : 0;
  page.note(fmt::format("The knapsack keeps {} of {} it may: the most run time for its bytes.",
                        bytes_text(kept), bytes_text(account.capacity_bytes)));
  HtmlTable items({{"value", Cell::name},
                   {"bytes", Cell::bar},
                   {"run time, by the estimator", Cell::number},
                   {"is"}});
  const auto most = static_cast<double>(std::max<int64_t>(account.items[0].bytes, 1));
  for (const PytorchAccount::Item& i : account.items)
    items.row({"%" + i.name, bytes_text(i.bytes), fmt::format("{}", i.runtime),
               i.kept ? "kept" : "may run again"},
              static_cast<double>(i.bytes) / most);
  page.add(items.finish(20));
}

std::string_view text_of(Fate fate) {
  switch (fate) {
    case Fate::saved: return "saved";
    case Fate::recomputed: return "computed again";
    case Fate::forward_only: break;
  }
  return "forward alone";
}

// Saved values first, then what is computed again, each by falling bytes.
void add_values(HtmlPage& page, const ReportCut& cut) {
  page.heading("Each value");
  struct Row {
    std::string name, fate, why;
    int64_t bytes;
    int order;
  };
  std::vector<Row> rows;
  for (const ValueExplanation& e : cut.explanation)
    if (e.fate != Fate::forward_only)
      rows.push_back({e.name, std::string(text_of(e.fate)),
                      e.change.empty() ? e.reason : e.reason + "; " + e.change, e.bytes,
                      e.fate == Fate::saved ? 0 : 1});
  if (cut.explanation.empty()) {
    for (const SavedValue& v : cut.partition->saved)
      rows.push_back(
          {v.name, v.placeholder ? "saved (a placeholder)" : "saved", v.why, v.bytes, 0});
    for (const RecomputedValue& v : cut.partition->recomputed)
      rows.push_back({v.name, "computed again", v.why, v.bytes, 1});
  }
  std::ranges::stable_sort(rows, {}, [](const Row& r) { return std::pair(r.order, -r.bytes); });
  HtmlTable table({{"value", Cell::name}, {"bytes", Cell::number}, {"is"}, {"why"}});
  for (const Row& r : rows) table.row({"%" + r.name, bytes_text(r.bytes), r.fate, r.why});
  page.add(table.finish(30));
}

void add_kept(HtmlPage& page, const ProgramMemory& memory) {
  page.heading("What the program keeps for its backward");
  if (memory.kept.empty()) return page.note("Nothing in its arena.");
  int64_t sum = 0;
  for (const KeptStorage& s : memory.kept) sum += s.bytes;
  page.note(fmt::format("{} storages, {}: made before the backward's first step, read after it.",
                        memory.kept.size(), bytes_text(sum)));
  HtmlTable table({{"value", Cell::name},
                   {"bytes", Cell::bar},
                   {"made by"},
                   {"steps", Cell::number},
                   {"read by", Cell::name}});
  for (const KeptStorage& s : memory.kept) {
    std::string readers;
    for (size_t k = 0; k < s.reads.size() && k < 4; ++k)
      readers += (k == 0 ? "%" : ", %") + s.reads[k];
    if (s.reads.size() > 4) readers += fmt::format(", {} more", s.reads.size() - 4);
    table.row({"%" + s.name, bytes_text(s.bytes), s.made_by,
               fmt::format("{} to {}", s.first, s.last), readers},
              static_cast<double>(s.bytes) / static_cast<double>(memory.kept[0].bytes));
  }
  page.add(table.finish(30));
}

}  // namespace

void add_saved(HtmlPage& page, const ReportData& data) {
  page.section("saved", "Why each value is saved");
  if (data.cut) {
    const Partition& p = *data.cut->partition;
    page.note(fmt::format(
        "The joint graph cut in two, mode {}: {} values saved, {} of activations, {} with "
        "placeholders; {} computed again.",
        data.cut->mode, p.saved.size(), bytes_text(p.saved_activation_bytes),
        bytes_text(p.saved_bytes), p.recomputed.size()));
    add_reasons(page, *data.cut);
    if (data.cut->account) add_account(page, *data.cut->account);
    add_values(page, *data.cut);
    add_operators(page, *data.cut);
  }
  if (data.memory && data.memory->profile.forward_thunks < data.memory->profile.thunks.size())
    add_kept(page, *data.memory);
  else if (!data.cut)
    page.note("Nothing is: the graph has no backward.");
}

}  // namespace cleave
