// What a frozen program computes once (CompileOptions::freeze), and which Variables it relies on.
//
//   FoldedValues   the results of CompiledProgram::frozen_part() for the Variables as they were
//                  when it was made, or refrozen
//   FoldedPool     those of one function: programs for other sizes that compute the same share them
//
// Thread-safe. A list that was handed out stays as it is: refreeze() makes a new one, which readers
// find with their next run.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/executable.h"
#include "trace/recording.h"

namespace cleave {

class FoldedValues {
 public:
  using List = std::vector<HostTensor>;  // the bytes of each, u8
  struct Frozen {
    std::string name;  // of the placeholder
    Variable variable;
    bool is_dropped = false;  // no run reads it, so it isn't kept alive
  };
  // `part` may be null. Errors (user): an index is out of range in the part's run.
  static Result<std::shared_ptr<FoldedValues>> make(std::shared_ptr<const CompiledProgram> part,
                                                    const std::vector<Frozen>& frozen,
                                                    std::shared_ptr<Executor> executor);
  // Null while `known` is the current list.
  std::shared_ptr<const List> newer_than(const std::shared_ptr<const List>& known) const;
  // The Variables that aren't gone, with their names. Error (user): one is that is folded.
  Result<std::vector<std::pair<std::string, Variable>>> variables() const;
  // Error (user): one of the Variables was written since.
  Status check() const;

 private:
  friend class FoldedPool;
  struct Source {
    std::string name;
    std::weak_ptr<trace::VariableState> state;
    Variable keep;  // unless it is dropped
    int64_t version = 0;
    size_t placeholder = 0;  // of the part
    bool is_operand = false;
  };
  // What the values would be now.
  struct Fresh {
    std::shared_ptr<const List> list;
    std::vector<int64_t> versions;
  };
  Result<Fresh> computed() const;
  void take(Fresh fresh);

  std::shared_ptr<const CompiledProgram> part_;
  std::shared_ptr<Executor> executor_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<Source> sources_;
  std::shared_ptr<const List> list_;
};

class FoldedPool {
 public:
  // As FoldedValues::make, or what it made before of an equal graph and the same Variables.
  Result<std::shared_ptr<FoldedValues>> get(std::shared_ptr<const CompiledProgram> part,
                                            const std::vector<FoldedValues::Frozen>& frozen,
                                            std::shared_ptr<Executor> executor);
  // Computes all again. On an error none changes. Error (user): a Variable is gone.
  Status refreeze();

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<FoldedValues>> known_;
};

}  // namespace cleave
