// How long the thunks of a program take, compared with a copy of as many bytes.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "cleave/report.h"
#include "cleave/timeline.h"
#include "compile/stage_options.h"
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave::tool {

struct TimedKernel {
  std::string name, kind;
  int64_t bytes = 0;  // read and written
  double us = 0;      // mean of the runs
};

struct KernelTimes {
  std::vector<TimedKernel> kernels;  // in the program's order
  double copy_bytes_per_us = 0;      // read and written, by the same threads
  double run_us = 0;                 // of a whole run, the median
  Report compiled = {};              // what compiling it said
  // The kernel's bandwidth as a fraction of a copy's.
  double share(const TimedKernel& k) const {
    return k.us > 0 ? static_cast<double>(k.bytes) / k.us / copy_bytes_per_us : 0;
  }
};

// Compiles a static graph and runs it `runs` times with random inputs; with a timeline it watches
// the compilation, and two more runs on its executor. Errors: those of compiling and running.
Result<KernelTimes> time_kernels(const Graph& g, const OpRegistry& ops, StageOptions options,
                                 int runs, const Timeline* timeline = nullptr);

}  // namespace cleave::tool
