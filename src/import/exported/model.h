// A .pt2 file as a graph and its weights.
//
//   CLEAVE_TRY(ZipArchive zip, ZipArchive::open("model.pt2"));
//   CLEAVE_TRY(ImportedModel m, import_exported(zip, ops));
//
// Placeholders: symints first; parameters, buffers and constants under their names in the model
// ("layers.0.weight"), inputs under those of the file ("x"). Parameters that ask for gradients bear
// `grad`; names for one tensor are one placeholder. Results: updates of what is written in place,
// in the order of the placeholders, as run_decompositions() has them; then the results of forward,
// in order, without None and constants; last the state of random numbers, where they are drawn.
// UpdateOrder::last has the updates behind forward's results.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cleave/host_tensor.h"
#include "import/zip_archive.h"
#include "ir/graph.h"

namespace cleave {

struct ImportedModel {
  Program program;
  std::map<std::string, HostTensor> weights;  // by placeholder; only those that the graph has
  // Placeholders by name, and results as "out.3", that are complex tensors in the file: here their
  // last dim is (real part, imaginary part).
  std::set<std::string> complex;
  std::map<std::string, std::string> ties;  // a name that is no placeholder: the one it stands for
  // As torch.utils._pytree writes them, with names of inputs and numbers of results in place:
  // "((x, {a: y}), {})".
  std::string arguments, results;
  std::string torch_version;
};

// The operators of a file that can't be read, with their calls; empty: all can.
using UncoveredCalls = std::map<std::string, int64_t>;

// Errors (user): a file that is damaged, or that contradicts itself; (unsupported) operators, all
// of them in one message and in `uncovered`, dtypes, custom objects, other versions of the schema.
enum class WeightBytes : uint8_t { read, skipped };  // skipped: `weights` stays empty
enum class UpdateOrder : uint8_t { first, last };
struct ImportOptions {
  WeightBytes weights = WeightBytes::read;
  UpdateOrder updates = UpdateOrder::first;
};
Result<ImportedModel> import_exported(const ZipArchive& zip, const OpRegistry& ops,
                                      const ImportOptions& options = {},
                                      UncoveredCalls* uncovered = nullptr);

}  // namespace cleave
