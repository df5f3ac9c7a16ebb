// What options there are: their names, what they mean, and their values as text. doc/options.md is
// written from it (doc/write_options.cpp). A field of CompileOptions or TrainOptions without a row
// is found by test/compile/option_table_test.cpp.
#pragma once
#include <span>

#include "base/result.h"
#include "cleave/options.h"

namespace cleave {

// Whose field it is. Rows read and write a TrainOptions, which has all of them.
enum class OptionOwner : uint8_t { compile, train };
std::string_view name_of(OptionOwner owner);  // "CompileOptions"

struct OptionRow {
  OptionOwner owner;
  std::string_view name;
  std::string_view kind;     // what a value is: "true or false"
  std::string_view example;  // such a value; where there is no text, what C++ sets
  std::string_view meaning;
  bool is_list;  // its text has quotes of its own
  // The field as text. Null, as `set`, where there is none: it is set in C++ alone.
  std::string (*get)(const TrainOptions&);
  // Error (user): a text of another kind.
  Status (*set)(const OptionRow&, std::string_view text, TrainOptions&);

  bool has_text() const { return get != nullptr; }
};

// In the order of the fields.
std::span<const OptionRow> option_table();

}  // namespace cleave
