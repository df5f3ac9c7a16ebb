// The page of a report: each section says what its data say, everything that a file can name is
// escaped, and nothing is loaded.
// tests: html.cpp markup.cpp module_drawing.cpp report_page.cpp report_modules.cpp
// tests: report_memory.cpp report_frontier.cpp report_kernels.cpp report_coverage.cpp
// tests: report_saved.cpp
#include "inspect/report.h"

#include "cut/default_partition.h"
#include "inspect/markup.h"
#include "inspect/module_drawing.h"
#include "test/cut/halves.h"
#include "test/inspect/times_in.h"

namespace cleave {
namespace {

using test::joint_of;
using test::parsed;
using test::times_in;

// The part of the page that is a section.
std::string section(const std::string& page, const std::string& id) {
  const size_t at = page.find("<section id=\"" + id + "\">");
  EXPECT_NE(at, std::string::npos) << id;
  return page.substr(at, page.find("</section>", at) - at);
}

// The rows of the tables in it, each with its cells, without tags.
std::vector<std::vector<std::string>> rows(const std::string& html) {
  std::vector<std::vector<std::string>> out;
  for (size_t at = 0; (at = html.find("<tr><td", at)) != std::string::npos;) {
    const size_t end = html.find("</tr>", at);
    std::vector<std::string>& row = out.emplace_back();
    for (size_t cell = html.find("<td", at); cell < end; cell = html.find("<td", cell + 1)) {
      const size_t begin = html.find('>', cell) + 1;
      row.push_back(html.substr(begin, html.find("</td>", begin) - begin));
    }
    at = end;
  }
  return out;
}

using Row = std::vector<std::string>;
bool has_row(const std::string& html, const Row& beginning) {
  for (const Row& row : rows(html))
    if (row.size() >= beginning.size() &&
        std::equal(beginning.begin(), beginning.end(), row.begin()))
      return true;
  return false;
}

const char* const mlp = R"(
graph @main(%fc.weight: param f32[64,32] grad, %out.weight: param f32[32,8] grad,
  %x: input f32[16,64]) {
  %h = mm(%x, %fc.weight)     # net.cpp:3
  %a = tanh(%h)               # net.cpp:4
  %y = mm(%a, %out.weight)    # net.cpp:5
  return %y
})";

struct Example {
  explicit Example(const std::string& text = mlp) : graph(joint_of(text)) {
    data.file = "net.clv";
    data.target = "x86-64-v3";
    data.graph = &graph;
    data.groups = group_calls(graph, best_grouping(graph));
  }
  std::string page() const { return report_page(data); }
  Graph graph;
  ReportData data;
};

TEST(Markup, escapes_what_a_page_would_obey) {
  EXPECT_EQ(markup_text("<b a=\"c\">&'"), "&lt;b a=&quot;c&quot;&gt;&amp;&#39;");
  EXPECT_EQ(markup_text("a\n\x01\x7f\xc2\x85z"), "a    z");
  EXPECT_EQ(markup_text("\xc3\xa4 \xe2\x86\x92 \xf0\x9f\x99\x82"),
            "\xc3\xa4 \xe2\x86\x92 \xf0\x9f\x99\x82");
  // Cut off, alone, too long for what it says, a surrogate, beyond the last character.
  EXPECT_EQ(markup_text("\xc3"), "?");
  EXPECT_EQ(markup_text("\x80x"), "?x");
  EXPECT_EQ(markup_text("\xc0\xbc"), "??");
  EXPECT_EQ(markup_text("\xed\xa0\x80"), "???");
  EXPECT_EQ(markup_text("\xf4\x90\x80\x80"), "????");
}

TEST(Html, a_table_folds_its_last_rows_away) {
  HtmlTable table({{"name", Cell::name}, {"time", Cell::bar}});
  for (int k = 0; k < 10; ++k) table.row({fmt::format("<v{}>", k), "1 us"}, 0.1 * k);
  const std::string all = table.finish(9);  // one more is shown
  EXPECT_EQ(times_in(all, "<details>"), 0U);
  const std::string html = table.finish(4);
  EXPECT_NE(html.find("<summary>6 more</summary>"), std::string::npos);
  EXPECT_EQ(rows(html).size(), 10U);
  EXPECT_LT(html.find("&lt;v3&gt;"), html.find("<details>"));
  EXPECT_GT(html.find("&lt;v4&gt;"), html.find("<details>"));
  EXPECT_NE(html.find("--w:30.0%"), std::string::npos);
  EXPECT_EQ(html.find("<v"), std::string::npos);
}

TEST(Html, a_table_counts_what_is_too_much_for_a_page) {
  HtmlTable table({{"name", Cell::name}});
  for (size_t k = 0; k < HtmlTable::most_rows + 7; ++k) table.row({"x"});
  const std::string html = table.finish(10);
  EXPECT_EQ(rows(html).size(), HtmlTable::most_rows);
  EXPECT_NE(html.find(fmt::format(">{} more<", HtmlTable::most_rows + 7 - 10)), std::string::npos);
  EXPECT_NE(html.find("The last 7 of these are left out here."), std::string::npos);
}

TEST(Report, loads_nothing_and_links_to_each_section) {
  const std::string page = Example().page();
  for (const char* loads :
       {"src=", "http://", "https://", "<script", "<link rel=\"style", "@import", "url("}) {
    std::string rest = page;
    // Not what names a language.
    for (size_t at; (at = rest.find("http://www.w3.org/2000/svg")) != std::string::npos;)
      rest.erase(at, 26);
    EXPECT_EQ(rest.find(loads), std::string::npos) << loads;
  }
  for (const char* id :
       {"graph", "memory", "frontier", "kernels", "coverage", "saved", "warnings"}) {
    EXPECT_NE(page.find(fmt::format("<a href=\"#{}\">", id)), std::string::npos) << id;
    section(page, id);
  }
  EXPECT_EQ(times_in(page, "<section"), times_in(page, "</section>"));
}

TEST(Report, names_are_escaped_wherever_they_come_from) {
  const std::string bad = "</script><img src=x onerror=alert(1)>";
  Example e;
  e.data.file = bad;
  e.data.target = bad;
  e.data.compiled.warnings = {{bad, bad}};
  e.data.compiled.stages = {{.name = bad, .ms = 1}};
  e.data.compiled.passes = {{.name = bad, .matches = 1}};
  e.data.kernels = {{.name = bad, .kind = bad, .read = 1}};
  e.data.coverage = {{.op = bad, .calls = 2, .compiled = 1, .reason = bad}};
  e.data.left_out = {bad};
  e.data.spans = {{bad, "run", 0, 0, 0, 9000}, {bad, bad, 0, 0, 100, 9000}};
  e.data.groups.groups[0].name = bad;
  ProgramMemory memory;
  memory.profile.thunks.resize(2);
  memory.profile.forward_thunks = 1;
  memory.at_peak = memory.kept = {{.name = bad, .made_by = bad, .bytes = 64, .reads = {bad}}};
  e.data.memory = memory;
  const Partition cut = value_or_throw(default_partition(e.graph));
  e.data.cut = ReportCut{.mode = bad, .partition = &cut};
  e.data.cut->explanation = {{.name = bad, .fate = Fate::saved, .reason = bad, .change = bad}};
  e.data.cut->operators = {{.op = bad}};
  e.data.cut->reasons = {{.why = bad}};
  e.data.cut->account = PytorchAccount{.bans = {{bad, 1}}, .items = {{.name = bad}}};
  e.data.cut->trades = {{.name = bad, .colour = "red", .points = {{1, 1, bad}}}};
  const std::string page = e.page();
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("</script>"), std::string::npos);
  EXPECT_GT(times_in(page, "&lt;img"), 20U);
}

TEST(Report, modules_have_their_calls_parameters_and_times) {
  Example e;
  e.data.kernels = {{.name = "h", .kind = "product", .us = 3},
                    {.name = "h.again", .us = 1},
                    {.name = "h_12", .us = 2},
                    {.name = "nothing", .us = 1.5},
                    {.name = "12", .us = 0.5}};
  const std::string html = section(e.page(), "graph");
  EXPECT_TRUE(has_row(html, {"fc", "2", "1", "1", "8 KiB", "6.0 us"}));
  EXPECT_TRUE(has_row(html, {"(made by passes)", "", "", "", "", "2.0 us"}));
  // A drawing of the modules, and one of the calls of each.
  EXPECT_EQ(times_in(html, "<svg"), 1 + e.data.groups.groups.size());
  EXPECT_NE(html.find(">net.cpp:3<"), std::string::npos);
}

TEST(Report, groups_that_are_too_large_to_draw_are_named) {
  std::string text = "graph @main(%x: input f32[4]) {\n  %v0 = tanh(%x)  # a.cpp:1\n";
  for (int k = 1; k < 300; ++k) text += fmt::format("  %v{} = tanh(%v{})  # a.cpp:1\n", k, k - 1);
  const Graph g = parsed(text + "  return %v299\n}");
  ReportData data{
      .file = "deep.clv", .target = "t", .graph = &g, .groups = group_calls(g, GroupBy::line)};
  const std::string html = section(report_page(data), "graph");
  EXPECT_EQ(times_in(html, "<svg"), 1U);
  EXPECT_NE(html.find("a.cpp:1: 300 calls, too many to draw"), std::string::npos);
}

TEST(Report, kernels_have_bytes_times_and_bandwidth) {
  Example e;
  e.data.kernels = {
      {.name = "a", .kind = "kernel", .read = 3072, .written = 1024, .us = 2},
      {.name = "h", .kind = "product", .read = 8000, .written = 2000, .flops = 60000, .us = 6}};
  e.data.copy_bytes_per_us = 4000;
  e.data.runs = 5;
  e.data.threads = 2;
  e.data.spans = {{"run", "run", 0, 0, 0, 9000}, {"%a", "kernel", 0, 0, 100, 2100}};
  const std::string html = section(e.page(), "kernels");
  EXPECT_NE(html.find("When each step ran, and where"), std::string::npos);
  // 10 kB in 6 us are 1.67 GB/s, of a copy's 4 GB/s; 60 kflop in it are 10 GFLOP/s. Longest first.
  const std::vector<Row> all = rows(html);
  const Row product = {"%h",        "product", "7.812 KiB", "1.953 KiB", "6.00 us, 75.0%",
                       "1.67 GB/s", "42%",     "10.0"};
  const Row kernel = {"%a", "kernel", "3 KiB", "1 KiB", "2.00 us, 25.0%", "2.05 GB/s", "51%", ""};
  ASSERT_EQ(all.size(), 4U);  // the two kinds, then these
  EXPECT_EQ(all[2], product);
  EXPECT_EQ(all[3], kernel);
  EXPECT_TRUE(has_row(html, {"product", "1", "6.0 us, 75.0%", "9.766 KiB", "1.67 GB/s", "10.0"}));
  EXPECT_NE(html.find("the mean of 5 on 2 threads"), std::string::npos);
}

TEST(Report, coverage_names_what_is_not_compiled_first) {
  Example e;
  e.data.coverage = {
      {.op = "mm", .calls = 6, .compiled = 6},
      {.op = "all_reduce", .calls = 2, .compiled = 0, .reason = "no kernel: no transport"}};
  const std::string html = section(e.page(), "coverage");
  EXPECT_NE(html.find("6 of 8 calls are compiled (75.0%)"), std::string::npos);
  ASSERT_EQ(rows(html).size(), 2U);
  EXPECT_EQ(rows(html)[0], (Row{"all_reduce", "2", "0", "no kernel: no transport"}));
}

TEST(Report, memory_names_what_is_there_at_the_peak) {
  Example e;
  ProgramMemory memory;
  memory.profile.thunks.resize(3);
  memory.profile.thunks[1][static_cast<size_t>(Kept::saved)] = 4096;
  memory.profile.planned_peak = 5120;
  memory.profile.forward_thunks = 2;
  memory.peak_step = 1;
  memory.at_peak = {{.name = "h",
                     .made_by = "product",
                     .bytes = 4096,
                     .kind = Kept::saved,
                     .first = 0,
                     .last = 2}};
  e.data.memory = memory;
  const std::string html = section(e.page(), "memory");
  EXPECT_TRUE(has_row(html, {"%h", "4 KiB", "saved", "product", "0 to 2"}));
  EXPECT_NE(html.find("peak 5 KiB, 1 KiB of it gaps"), std::string::npos);
  EXPECT_NE(html.find("forward, 2 steps"), std::string::npos);
  EXPECT_NE(html.find("backward, 1 steps"), std::string::npos);
}

TEST(Report, frontier_shows_programs_by_their_peak) {
  Example e;
  e.data.program_trades = {{1 << 20, 0}, {1 << 19, 2500}};
  const std::string html = section(e.page(), "frontier");
  EXPECT_TRUE(has_row(html, {"1 MiB", "100.0%", "0 ns"}));
  EXPECT_TRUE(has_row(html, {"512 KiB", "50.0%", "2.5 us"}));
}

TEST(Report, says_why_each_value_is_saved) {
  Example e;
  const Partition cut = value_or_throw(default_partition(e.graph));
  e.data.cut = ReportCut{.mode = "exact", .partition = &cut};
  e.data.cut->operators = count_operators(e.graph, cut);
  e.data.cut->reasons = {{.why = "a rule", .saved = 2, .saved_bytes = 2048}};
  e.data.cut->explanation = {
      {.name = "again", .bytes = 64, .fate = Fate::recomputed, .reason = "costs nothing"},
      {.name = "h",
       .bytes = 2048,
       .fate = Fate::saved,
       .reason = "dear",
       .change = "less where cheap"},
      {.name = "out", .fate = Fate::forward_only, .reason = "not needed"}};
  const std::string html = section(e.page(), "saved");
  EXPECT_TRUE(has_row(html, {"a rule", "2", "2 KiB", "", ""}));
  EXPECT_TRUE(has_row(html, {"%h", "2 KiB", "saved", "dear; less where cheap"}));
  EXPECT_TRUE(has_row(html, {"%again", "64 B", "computed again", "costs nothing"}));
  EXPECT_LT(html.find("%h<"), html.find("%again<"));  // what is saved comes first
  EXPECT_EQ(html.find("%out"), std::string::npos);
  EXPECT_TRUE(has_row(html, {"mm", "5", "2", "3", ""})) << html;
}

TEST(Report, a_graph_without_a_program_has_a_page) {
  const Graph g = parsed("graph @main(%x: input f32[4]) {\n  return %x\n}");
  const ReportData data{.file = "x",
                        .target = "t",
                        .graph = &g,
                        .groups = group_calls(g, GroupBy::op),
                        .left_out = {"kernels: of no interest"}};
  const std::string page = report_page(data);
  EXPECT_NE(section(page, "warnings").find("kernels: of no interest"), std::string::npos);
  EXPECT_NE(section(page, "kernels").find("There are none"), std::string::npos);
}

TEST(ModuleDrawing, has_a_box_for_each_part_of_the_forward) {
  const Graph g = parsed(R"(
graph @main(%wte.weight: param f32[50,8], %fc.weight: param f32[8,8], %i: input i64[4]) {
  %e = embedding(%wte.weight, %i)
  %h = mm(%e, %fc.weight)
  %t = permute(%wte.weight; dims=[1,0])
  %y = mm(%h, %t)
  return %y
})");
  const CallGroups groups = group_calls(g, GroupBy::module);
  const std::string svg = module_drawing(g, groups, {1, 0});
  EXPECT_EQ(times_in(svg, ">wte<"), 2U);  // the embedding and the head
  EXPECT_EQ(times_in(svg, ">fc<"), 1U);
  EXPECT_EQ(times_in(svg, ">2 calls<"), 1U);
  EXPECT_EQ(times_in(svg, ">1.562 KiB of parameters<"), 1U);
  EXPECT_EQ(times_in(svg, "fill=\"#b7d0ed\""), 2U);
  EXPECT_EQ(times_in(svg, "<path "), 3U);
  EXPECT_EQ(times_in(svg, "stroke-dasharray"), 0U);
  EXPECT_EQ(group_title(GroupBy::module, ""), "(model)");
}

}  // namespace
}  // namespace cleave
