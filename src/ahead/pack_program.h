// The code of a library's programs: their units and functions, each once.
//
//   units      text by text; those of programs that share functions (compile/code_pool.h) are equal
//   phases     symbols of functions of kernels, operators: of C text of the host program
//   callbacks  calls of the host program that have none, by the name of their first result; those
//              that have other types at other sizes are named so: moved@B=8
#pragma once
#include <map>

#include "ahead/source.h"
#include "compile/build.h"

namespace cleave::ahead {

class PackedCode {
 public:
  struct Callback {
    std::string name, op;
    std::vector<std::string> operands, results;  // types; "none"
    bool operator==(const Callback&) const = default;
  };

  // `prefix` begins the symbols of kernels that other units may have, too; `sizes` tells callbacks
  // apart.
  standalone::CodeEntry add(const WrittenProgram& written, const std::string& prefix,
                            const std::string& sizes);
  // Their names, when all are there. Error (unsupported): two have one.
  Status name_callbacks();

  const std::vector<SourceUnit>& units() const { return units_; }
  const std::vector<std::string>& phases() const { return phases_; }
  const std::vector<std::string>& operators() const { return operators_; }
  const std::vector<Callback>& callbacks() const { return callbacks_; }

 private:
  standalone::KernelEntry add_kernel(const EmittedKernel& kernel, const std::string& prefix);
  void add_unit(SourceUnit unit);
  size_t add_operator(const ForeignCall& call);
  size_t add_callback(Callback callback, const std::string& sizes);

  std::vector<SourceUnit> units_;
  std::vector<std::string> phases_, operators_;
  std::vector<Callback> callbacks_;
  std::vector<std::string> callback_sizes_;  // of the first program that has it
  std::map<std::string, size_t> unit_of_text_, phase_of_symbol_, operator_of_text_;
};

}  // namespace cleave::ahead
