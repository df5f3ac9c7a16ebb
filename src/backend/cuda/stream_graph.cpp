#include "backend/cuda/stream_graph.h"

#include <algorithm>

namespace cleave::cuda {

Status StreamGraph::begin(std::span<void* const> pointers) {
  drop();
  pointers_.assign(pointers.begin(), pointers.end());
  CLEAVE_CHECK(device_->make_current());
  const Driver& driver = device_->driver();
  return driver.check(driver.cuStreamBeginCapture(stream_, cuda_capture_thread_local),
                      "noting the calls of a queue");
}

Status StreamGraph::end() {
  const Driver& driver = device_->driver();
  CUgraph noted = nullptr;
  CUresult code = driver.cuStreamEndCapture(stream_, &noted);
  if (code == 0) code = driver.cuGraphInstantiate(&graph_, noted, 0);
  if (noted != nullptr) driver.cuGraphDestroy(noted);
  if (code == 0) return {};
  graph_ = nullptr;
  return unsupported("cuda: the calls of a run don't become a graph: {}", driver.message(code));
}

bool StreamGraph::holds(std::span<void* const> pointers) const {
  return graph_ != nullptr && std::ranges::equal(pointers_, pointers);
}

Status StreamGraph::launch() {
  if (graph_ == nullptr) return bug("cuda: a graph is started before it was made");
  CLEAVE_CHECK(device_->make_current());
  const Driver& driver = device_->driver();
  Status launched = driver.check(driver.cuGraphLaunch(graph_, stream_), "starting a graph");
  if (!launched.ok()) drop();
  return launched;
}

void StreamGraph::drop() noexcept {
  if (graph_ == nullptr) return;
  const Status current = device_->make_current();
  if (current.ok()) device_->driver().cuGraphExecDestroy(graph_);
  graph_ = nullptr;
}

}  // namespace cleave::cuda
