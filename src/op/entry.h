// Every operator file includes this header; its one macro makes a file an operator file.
//
//   namespace cleave {
//   CLEAVE_OPS(flip) {          // the name of the file, at the beginning of the line
//     return {
//         OpDef{.name = "flip", ...},
//     };
//   }
//   }  // namespace cleave
//
// The build lists the files that contain CLEAVE_OPS; registry.cpp adds their entries in the order
// of file names. The entries of a file are created once for each registry.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/op_view.h"
#include "loop/lower_rule.h"

namespace cleave {

// The entries of a file. Entries in braces are moved; a std::vector would copy their samples.
class OpEntries {
 public:
  struct Item {
    Item(OpDef def);
    ~Item();
    mutable OpDef entry;  // mutable because a list's items are const
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
