#include "cleave/graph_dumper.h"

#include <mutex>

#include "base/shell_word.h"
#include "base/write_file.h"
#include "compile/repro.h"
#include "compilers/dump_files.h"
#include "compilers/partitioner.h"
#include "compilers/traced_graph.h"
#include "exec/notices.h"
#include "ir/text.h"

namespace cleave {
namespace {

class Dumper {
 public:
  Dumper(std::string name, std::string folder, bool examples)
      : name_(std::move(name)), folder_(std::move(folder)), examples_(examples) {}

  Status dump(const char* kind, const Graph& g, const HostTensors* examples) {
    const std::lock_guard lock(mutex_);
    const std::string stem = fmt::format("{}_{}_{}", name_, kind, index_);
    if (g.node_count() == 0) {
      const Warning empty{"empty_graph", fmt::format("graph_dumper: {} has no calls", stem)};
      Notices().warn(std::span(&empty, 1));
      return {};
    }
    const std::string in = folder_ + "/" + name_ + "/" + stem;
    CLEAVE_CHECK(make_folder(in));
    const std::string file = in + "/" + stem;
    CLEAVE_CHECK(write_file(file + ".clv", print(g)));
    CLEAVE_CHECK(write_file(file + ".input", input_types(g)));
    if (examples_ && examples != nullptr)
      CLEAVE_CHECK(write_inputs(file + ".safetensors", g, *examples));
    return {};
  }
  void next() {
    const std::lock_guard lock(mutex_);
    ++index_;
  }

 private:
  const std::string name_, folder_;
  const bool examples_;
  std::mutex mutex_;
  int64_t index_ = 0;
};

GraphCompiler dumping(std::shared_ptr<Dumper> dumper, const char* kind, bool is_last) {
  return [dumper = std::move(dumper), kind, is_last](const TracedGraph& graph,
                                                     const HostTensors& examples) {
    value_or_throw(dumper->dump(kind, graph.state().graph, &examples));
    if (is_last) dumper->next();
    return native()(graph, examples);
  };
}

}  // namespace

AotOptions graph_dumper(const std::string& name, const std::string& folder, bool examples) {
  auto dumper = std::make_shared<Dumper>(name, folder, examples);
  AotOptions options{.forward = dumping(dumper, "forward", false),
                     .backward = dumping(dumper, "backward", true),
                     .inference = dumping(dumper, "forward", true),
                     .decompositions = Decompositions::defaults()};
  options.partition = observed(Partitioner::standard(), [dumper](const Graph& joint) {
    return dumper->dump("joint", joint, nullptr);
  });
  return options;
}

GraphCompiler debug_compile(const std::string& folder) {
  return [folder](const TracedGraph& graph, const HostTensors& examples) {
    const Graph& g = graph.state().graph;
    const Repro repro{
        .graph_text = print(g),
        .write_inputs = [&](const std::string& path) { return write_inputs(path, g, examples); },
        .flags = " --out " + shell_word(folder + "/results.safetensors")};
    fmt::print("{}\n", value_or_throw(write_repro(folder, repro)));
    return script()(graph, examples);
  };
}

}  // namespace cleave
