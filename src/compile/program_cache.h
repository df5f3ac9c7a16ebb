// Built programs in a cache on disk: found by key without running a stage, or kept after all have
// run.
//
//   ProgramCache kept(options, report);                  // none, where options have no folder
//   if (kept.cache()) built = kept.find(...);            // the report says hit, miss or bypass
//   kept.keep(graph, built, code, report);               // of a miss
//
// Its failures are never the caller's: they make a miss, or a program that isn't kept.
#pragma once
#include "cache/disk_cache.h"
#include "cleave/report.h"
#include "compile/program_entry.h"
#include "compile/program_key.h"

namespace cleave {

class ProgramCache {
 public:
  // Both live longer.
  ProgramCache(const StageOptions& options, Report& report);
  // Null where there is none, or none that can be used.
  const std::shared_ptr<cache::DiskCache>& cache() const { return cache_; }

  // The program with the source lines of this graph; nullopt where it isn't there as a whole, or
  // can't be kept. The report gets what its compilation had found.
  std::optional<BuiltProgram> find(const Graph& graph, const OpRegistry& ops,
                                   const std::shared_ptr<Backend>& backend, Report& report);
  // Keeps what was built after a miss: of `graph`, from `code`.
  void keep(const Graph& graph, const BuiltProgram& built, KeptCode code, Report& report);

 private:
  void bypass(const std::string& reason, Report& report);

  const StageOptions& options_;
  std::shared_ptr<cache::DiskCache> cache_;
  std::optional<ProgramKey> key_;  // of a miss
};

}  // namespace cleave
