#include "tool/cut_pictures.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "inspect/cut_drawing.h"
#include "inspect/cut_plots.h"
#include "inspect/memory_chart.h"
#include "inspect/network_drawing.h"
#include "tool/graph_file.h"

namespace cleave::tool {
namespace {

Status write_picture(const std::string& folder, const char* name, const std::string& svg) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return user_error("--plot {}: {}", folder, error.message());
  return write_text((std::filesystem::path(folder) / name).string(), svg);
}

std::string title_of(const Graph& joint, std::string_view what) {
  return fmt::format("@{}: {}", joint.name(), what);
}

}  // namespace

Status plot_frontier(const std::string& folder, const Graph& joint, const PytorchOptions& options,
                     const MachineRates& rates, const Partition* chosen,
                     const MeasureCall& measure) {
  CLEAVE_TRY(std::vector<TradeLine> lines, trade_lines(joint, options, rates, measure));
  if (chosen) lines.push_back(chosen_trade(joint, *chosen, rates));
  return write_picture(folder, "frontier.svg",
                       trade_chart(title_of(joint, "saved bytes against time"), lines));
}

Status plot_cut(const std::string& folder, const Graph& joint, const Partition& cut,
                std::optional<int64_t> budget, const OpRegistry& ops, const StageOptions& options) {
  const Result<MemoryProfile> memory = memory_profile(joint, cut, ops, options);
  if (memory.ok())
    CLEAVE_CHECK(write_picture(
        folder, "memory.svg",
        memory_chart(title_of(joint, "memory over the two halves"), *memory, budget)));
  else
    fmt::print(stderr, "no memory.svg: {}\n", memory.failure().message);
  const auto drawing = cut_drawing(title_of(joint, "what is saved"), cut);
  if (!drawing) {
    fmt::print(stderr, "no cut.svg: the halves have {} calls, more than {}\n",
               cut.forward.node_count() + cut.backward.node_count(), largest_drawing);
    return {};
  }
  return write_picture(folder, "cut.svg", *drawing);
}

Result<std::string> plot_conflict(const std::string& folder, const Graph& joint,
                                  const PytorchOptions* pytorch, const MachineRates& rates) {
  const std::string title = title_of(joint, "neither saved nor recomputed");
  CLEAVE_TRY(const JointView view, JointView::make(joint));
  std::optional<flow::FailedNetwork> failed;
  std::vector<std::string> written;
  const auto write = [&](const char* name, const std::string& text) {
    written.push_back((std::filesystem::path(folder) / name).string());
    return write_picture(folder, name, text);
  };
  if (pytorch) {
    CLEAVE_TRY(failed, pytorch_conflict(joint, *pytorch));
  } else {
    failed = CutGraph::failed_network(view, rates);
    if (failed) CLEAVE_CHECK(write("conflict.svg", path_drawing(title, CutGraph::conflict(view))));
  }
  if (!failed) return std::string();
  CLEAVE_CHECK(write("network.svg", network_svg(title, *failed)));
  CLEAVE_CHECK(write("network.dot", network_dot(joint.name(), *failed)));
  return fmt::format("{}", fmt::join(written, ", "));
}

}  // namespace cleave::tool
