// The calls of a run as one graph, which a device starts in one step: a launch costs microseconds
// for all of them in place of microseconds each.
//
//   if (graph->holds(pointers)) return graph->launch();
//   CLEAVE_CHECK(graph->begin(pointers));
//   ... calls and copies on the arena's queue, which are noted and not run ...
//   if (graph->end().ok()) return graph->launch();
//   ... the calls again, which run: one of them can't be noted ...
//
// Between begin and end nothing may wait for the queue (ArenaMemory::finish and flag), and calls
// may not allocate. They keep the arguments that they had: the pointers given to begin, scalars,
// launches.
#pragma once
#include <span>

#include "base/result.h"

namespace cleave {

// Not thread-safe, as the arena that made it and is there as long.
class QueueGraph {
 public:
  QueueGraph() = default;
  virtual ~QueueGraph() = default;
  QueueGraph(const QueueGraph&) = delete;
  QueueGraph& operator=(const QueueGraph&) = delete;

  // Drops what was noted before. Errors (bug): those of the device.
  virtual Status begin(std::span<void* const> pointers) = 0;
  // Errors (unsupported): a call between the two can't be noted, with what the device says. The
  // queue is as it was, and no graph is held.
  virtual Status end() = 0;
  // Whether end() has made a graph for the same pointers.
  virtual bool holds(std::span<void* const> pointers) const = 0;
  // Queues all of its calls. Errors (bug): those of the device; no graph is held.
  virtual Status launch() = 0;
};

}  // namespace cleave
