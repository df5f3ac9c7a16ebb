// What every operator file includes, and the one macro that makes it an operator file.
//
//   namespace cleave {
//   CLEAVE_OPS(flip) {          // the name of the file, at the beginning of the line
//     return {
//         OpDef{.name = "flip", ...},
//     };
//   }
//   }  // namespace cleave
//
// The build lists the files that say CLEAVE_OPS; registry.cpp adds their entries in the order of
// the files' names. The entries of a file are made once for each registry.
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/op_view.h"
#include "loop/lower_rule.h"

#define CLEAVE_OPS(file)              \
  std::vector<OpDef> ops_of_##file(); \
  std::vector<OpDef> ops_of_##file()
