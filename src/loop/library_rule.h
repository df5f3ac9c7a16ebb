// A library call in the place of an operator (library/spec.h): what it touches, how that may lie,
// and what it computes of it. Lowering finds the memory and asks for the spec; it knows no kind of
// call.
#pragma once
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "library/spec.h"
#include "loop/kernel_builder.h"

namespace cleave::loop {

enum class LibraryAccess {
  sizes,  // it gives its sizes alone: to be there, not to be read
  read,
  write
};

// How the memory of an operand or result lies, which may be stored in another dtype than the
// value's where the call converts it.
struct LibraryMemory {
  DType dtype = DType::f32;
  Layout layout;
};
// By position among the call's pointers; none where the call has no such operand.
using LibraryLayouts = std::array<std::optional<LibraryMemory>, max_library_operands>;

struct LibraryOperand {
  size_t position = 0;  // among the call's pointers (GemmOperand and others)
  LibraryAccess access = LibraryAccess::read;
  int index = 0;  // of the operator's flat operands; of its results where it is written
  // What is read is copied where this is false for its layout; null: any will do. What is written
  // may lie in a larger tensor where this is true; null: nowhere.
  bool (*takes)(const Layout&) = nullptr;
  // Of what is read: whether the call converts it itself from the dtype that it is stored in, to
  // the same numbers as a cast (lower_cast.cpp); null: from none.
  bool (*converts)(DType stored, DType dtype) = nullptr;
  // Of what is written: there even where nothing reads it.
  bool is_required = false;
  // The part that the call touches; null: all of it.
  std::function<Layout(Layout)> part = nullptr;
  // How a result is best laid out in memory of its own; null: row-major.
  std::function<Layout(const std::vector<int64_t>& shape, const LibraryLayouts&)> best = nullptr;
};

// Element `index` of a tensor of rank 1, or a number.
struct LibraryElement {
  int operand = -1;
  int64_t index = 0;
  Layout part(Layout whole) const;
};

struct LibraryForm {
  // In the order in which they are found, results last; the step has the name of the first result.
  std::vector<LibraryOperand> operands;
  std::function<LibrarySpec(const LibraryLayouts&)> spec;
  // Results that are elements of operands, where they lie.
  struct View {
    int result = 0;
    LibraryElement of;
  };
  std::vector<View> views = {};
};

// nullopt: decomposed.
struct LibraryRule {
  std::function<std::optional<LibraryForm>(const OpView&)> form;
};

// Row-major without gaps, wherever it begins.
bool is_without_gaps(const Layout& layout);
// The stride of the dim so far from the last one (1); 0 where one element serves for all.
int64_t stride_from_last(const Layout& layout, size_t from_last);

}  // namespace cleave::loop
