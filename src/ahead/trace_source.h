// The graphs of public programs for some sizes, with their Variables as the state of a source.
//
// A Variable is one entry, whichever sizes read it. Constants that the function makes anew for each
// size are one entry where their values are equal; else those of other sizes are named so:
// mask@B=8.
#pragma once
#include "ahead/source.h"
#include "exec/sized_programs.h"

namespace cleave::ahead {

// What a step computes beside its results, by name, where it does.
std::map<std::string, size_t> numbers_of(const ProgramCode::Marks& marks);

class TraceSource {
 public:
  // The source has its outputs. `rates` are the Variables of learning rates, in the order of
  // ProgramCode::own.
  explicit TraceSource(Source& source, std::vector<std::pair<std::string, Variable>> rates = {})
      : source_(source), rates_(std::move(rates)) {}

  // Traces it, where sizes vary; throws what the trace throws. Error (user): a Variable is gone.
  Result<Source::Program> program(const SizedPrograms& programs, const std::vector<int64_t>& sizes);
  std::optional<size_t> entry_of(const Variable& v) const;

 private:
  struct Parts;
  Result<Source::Program> program(const Parts& parts);
  size_t entry(const std::string& name, const Variable& v, bool is_frozen,
               const std::string& sizes);

  Source& source_;
  const std::vector<std::pair<std::string, Variable>> rates_;
  std::vector<trace::VariablePtr> kept_;  // what known_ refers to
  std::map<const trace::VariableState*, size_t> known_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace cleave::ahead
