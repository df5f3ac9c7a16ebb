// Any text is a graph for `cleave remat`, or an error. The order that a graph is given in runs each
// task once, behind what it reads.
#include "test/fuzz/harness.h"
#include "tool/remat_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const auto read = tool::parse_remat_graph(std::string(fuzz::text_of(data, size)));
  if (!read.ok()) {
    fuzz::expect_clear(read.failure());
    return 0;
  }
  if (read->given_order.size() != read->names.size()) fuzz::found("an order of other tasks");
  std::vector<bool> is_there(read->names.size());
  for (const plan::TaskId v : read->given_order) {
    for (const plan::TaskId x : read->graph.operands(v))
      if (!is_there.at(x)) fuzz::found("a task before what it reads");
    if (is_there.at(v)) fuzz::found("a task that runs twice");
    is_there[v] = true;
    if (tool::to_text(read->names[v]).size() > 80) fuzz::found("a name that is too long");
  }
  return 0;
}
