// The kernels of a function for some sizes, for a pool to learn from (compile/code_pool.h): traced
// one after the other, since the function is the host program's; the stages run on all threads.
#pragma once
#include "exec/sized_programs.h"

namespace cleave {

// By sample; none where the trace or a stage fails: that is told when these sizes are run. Neither
// dumps nor observers see them.
std::vector<std::vector<loop::Kernel>> sample_kernels(const InputSizes& sizes,
                                                      std::span<const std::vector<int64_t>> samples,
                                                      const SizedPrograms::Trace& trace,
                                                      const CompileOptions& options,
                                                      const std::shared_ptr<Backend>& backend);

}  // namespace cleave
