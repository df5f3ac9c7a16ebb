// Which tensor of a file goes into which Variable.
#pragma once
#include <functional>

#include "cleave/checkpoint.h"
#include "import/safetensors.h"

namespace cleave {

// A Variable and all its names in the file.
struct LoadTarget {
  Variable variable;
  std::vector<std::string> names;
};
std::vector<LoadTarget> load_targets(const std::vector<PrefixedStore>& stores);
// Error (user): TrainStep::use_ema has put an average in the place of one of them, which would be
// saved as a weight, or take what is loaded with it when it leaves.
Status check_no_averages(const std::string& path, const std::vector<LoadTarget>& targets);

struct TensorMatch {
  Variable variable;
  const TensorEntry* entry = nullptr;
};
// Whether the tensor of that name in the file is nobody's business.
using SkipsName = std::function<bool(std::string_view name)>;

struct MatchedTensors {
  std::vector<TensorMatch> matches;
  LoadReport report;
};
// Error (user): lists all that doesn't fit. `entries` outlive the matches.
Result<MatchedTensors> match_tensors(const std::string& path, std::span<const TensorEntry> entries,
                                     const std::vector<LoadTarget>& targets,
                                     const LoadOptions& options, const SkipsName& skips = {});
// Copies, and converts where the dtype is another one.
void copy_tensors(const std::vector<TensorMatch>& matches);

// The tensor of the file in memory of its own.
HostTensor host_tensor(const TensorEntry& entry);
// A row-major tensor as an entry to write; refers to its memory.
TensorEntry entry_of(const std::string& name, const HostTensor& tensor);
std::string type_text(const TensorEntry& entry);

}  // namespace cleave
