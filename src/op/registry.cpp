// The build generates op_tables.inc: a line CLEAVE_OP_TABLE(X) for each file X.cpp that contains
// CLEAVE_OPS(X), sorted by name.
#include "op/registry.h"

#include "op/entry.h"

namespace cleave {

#define CLEAVE_OP_TABLE(file) OpEntries ops_of_##file();
#include "op_tables.inc"
#undef CLEAVE_OP_TABLE

Result<OpRegistry> core_ops() {
  OpRegistry ops;
  [[maybe_unused]] const auto add_all = [&ops](OpEntries entries, const char* file) -> Status {
    for (OpDef& entry : std::move(entries).take()) {
      entry.file = file;
      CLEAVE_CHECK(ops.add(std::move(entry)));
    }
    return {};
  };
#define CLEAVE_OP_TABLE(file) CLEAVE_CHECK(add_all(ops_of_##file(), "src/op/" #file ".cpp"));
#include "op_tables.inc"
#undef CLEAVE_OP_TABLE
  return ops;
}

}  // namespace cleave
