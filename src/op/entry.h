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
#include <initializer_list>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/op_view.h"
#include "loop/lower_rule.h"

namespace cleave {

// The entries of a file. Those in braces are moved, where a std::vector would copy their samples.
class OpEntries {
 public:
  struct Item {
    Item(OpDef def);
    ~Item();
    mutable OpDef entry;  // a list's items are const
  };
  OpEntries(std::initializer_list<Item> items);
  OpEntries(std::vector<OpDef> entries);
  ~OpEntries();
  std::vector<OpDef> take() &&;

 private:
  std::vector<OpDef> entries_;
};

}  // namespace cleave

#define CLEAVE_OPS(file)     \
  OpEntries ops_of_##file(); \
  OpEntries ops_of_##file()
