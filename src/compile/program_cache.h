// Built programs in a cache on disk: found by key without running a stage, or kept after all have
// run.
//
//   ProgramCache kept(options, report);                  // none, where options have no cache
//   if (kept.cache()) built = kept.find(...);            // the report says hit, miss or bypass
//   kept.keep(graph, built, code, report);               // of a miss
//
// Its failures are never the caller's: they make a miss, or a program that isn't kept.
#pragma once
#include "cache/store.h"
#include "cleave/report.h"
#include "compile/program_entry.h"
#include "compile/program_key.h"

namespace cleave {

class ProgramCache {
 public:
  // Both live longer.
  ProgramCache(const StageOptions& options, Report& report);
  // In a store of its own, for comparison with another.
  ProgramCache(const StageOptions& options, Report& report, std::shared_ptr<cache::Store> store)
      : options_(options), report_(report), cache_(std::move(store)) {}
  ~ProgramCache();
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;
  // Null where there is none, or none that can be used.
  cache::Store* cache() const { return cache_.get(); }

  // The program with the source lines of this graph; nullopt where it isn't there as a whole, or
  // can't be kept. The report gets what its compilation had found.
  std::optional<BuiltProgram> find(const Graph& graph, const OpRegistry& ops,
                                   const std::shared_ptr<Backend>& backend);
  // Error (bug): what this cache has of the program that was found or kept last isn't what
  // `other` has, byte for byte; the message names the part.
  Status compare(const ProgramCache& other) const;
  // Keeps what was built after a miss: of `graph`, from `code`.
  void keep(const Graph& graph, const BuiltProgram& built, KeptCode code);

 private:
  void bypass(const std::string& reason);

  const StageOptions& options_;
  Report& report_;
  std::shared_ptr<cache::Store> cache_;
  std::optional<ProgramKey> key_;  // null where the program can't be kept
};

}  // namespace cleave
