// report.html: what a graph becomes, on one page that loads nothing.
//
//   ReportData data;                       what is known; parts that aren't are left out, and said
//   std::string page = report_page(data);
//
// Each section is a function of the file of its name, report_*.cpp.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cleave/report.h"
#include "cleave/timeline.h"
#include "cut/partition_statistics.h"
#include "cut/pytorch_partition.h"
#include "inspect/call_groups.h"
#include "inspect/html.h"
#include "inspect/program_memory.h"
#include "inspect/trade_chart.h"
#include "remat/explain_cut.h"

namespace cleave {

struct ReportKernel {
  std::string name, kind;
  int64_t read = 0, written = 0, flops = 0;  // bytes of one execution
  std::optional<double> us;                  // mean of the runs
};

// Of an operator, what becomes of its calls.
struct CoveredOperator {
  std::string op;
  int64_t calls = 0, compiled = 0;
  std::string reason = {};  // why the others aren't
};

// A program that a budget may choose.
struct ProgramTrade {
  int64_t peak_bytes = 0, recompute_ns = 0;
};

struct ReportCut {
  std::string mode;
  const Partition* partition = nullptr;
  std::vector<ValueExplanation> explanation = {};  // of mode exact
  std::vector<OperatorCount> operators = {};
  std::vector<ReasonCount> reasons = {};
  std::optional<PytorchAccount> account = {};  // of mode pytorch
  std::vector<TradeLine> trades = {};          // all modes
  std::optional<MemoryProfile> memory = {};    // of the two halves
};

struct ReportData {
  std::string file, target;
  const Graph* graph = nullptr;  // that is compiled: a joint graph, where gradients are asked for
  CallGroups groups = {};        // of its calls
  Report compiled = {};          // empty where it wasn't
  std::vector<ReportKernel> kernels = {};
  double copy_bytes_per_us = 0;  // 0: nothing was timed
  int runs = 0, threads = 0;
  double run_us = 0;                       // median
  std::vector<Timeline::Span> spans = {};  // of the compilation and of watched runs
  std::optional<ProgramMemory> memory = {};
  std::optional<int64_t> budget = {};  // bytes
  std::vector<ProgramTrade> program_trades = {};
  std::vector<CoveredOperator> coverage = {};
  std::optional<ReportCut> cut = {};
  std::vector<std::string> left_out = {};  // what isn't on the page, and why
};

std::string report_page(const ReportData& data);

void add_modules(HtmlPage& page, const ReportData& data);
void add_memory(HtmlPage& page, const ReportData& data);
void add_frontier(HtmlPage& page, const ReportData& data);
void add_kernels(HtmlPage& page, const ReportData& data);
void add_coverage(HtmlPage& page, const ReportData& data);
void add_saved(HtmlPage& page, const ReportData& data);
void add_warnings(HtmlPage& page, const ReportData& data);

}  // namespace cleave
