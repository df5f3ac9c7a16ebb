// How an operator becomes a library call (library/spec.h): which operands and results it accesses,
// in which layouts, and what it computes. Lowering finds the memory and asks for the spec; it knows
// no kind of call.
#pragma once
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "library/spec.h"
#include "loop/kernel_builder.h"

namespace cleave::loop {

using cleave::LibraryAccess;

// The memory of an operand or result. Its dtype may differ from the value's if the call converts
// it.
struct LibraryMemory {
  DType dtype = DType::f32;
  Layout layout;
};
// By position among the call's pointers; nullopt if the call has no such operand.
using LibraryLayouts = std::array<std::optional<LibraryMemory>, max_library_operands>;

struct LibraryOperand {
  size_t position = 0;  // among the call's pointers (GemmOperand and others)
  LibraryAccess access = LibraryAccess::read;
  int index = 0;  // of the operator's flat operands, or of its results if written
  // For an operand: whether the call reads this layout, else it is copied; null: any. For a result:
  // whether the call can write it as part of a larger tensor in this layout; null: never.
  bool (*takes)(const Layout&) = nullptr;
  // For an operand: whether the call converts it from the dtype in which it is stored, to the
  // numbers of a cast (lower_cast.cpp); null: no.
  bool (*converts)(DType stored, DType dtype) = nullptr;
  // For a result: written even if nothing reads it.
  bool is_required = false;
  // The part that the call accesses; null: all of it.
  std::function<Layout(Layout)> part = nullptr;
  // The best layout of a result in a storage of its own; null: row-major.
  std::function<Layout(const std::vector<int64_t>& shape, const LibraryLayouts&)> best = nullptr;
};

// Element `index` of a tensor of rank 1, or a number.
struct LibraryElement {
  int operand = -1;
  int64_t index = 0;
  Layout part(Layout whole) const;
};

struct LibraryForm {
  // Results come last. The thunk is named after the first result.
  std::vector<LibraryOperand> operands;
  std::function<LibrarySpec(const LibraryLayouts&)> spec;
  // Results that are elements of operands, and share their memory.
  struct View {
    int result = 0;
    LibraryElement of;
  };
  std::vector<View> views = {};
};

// nullopt: the call is decomposed.
struct LibraryRule {
  std::function<std::optional<LibraryForm>(const OpView&)> form;
  // Whether GPUs have no such call: where a graph is lowered for one, it is decomposed.
  bool is_of_host = false;
};

// Whether the layout is row-major and dense, at any offset.
bool is_without_gaps(const Layout& layout);
// The stride of the dim at this distance from the last one (1); 0 if it is broadcast.
int64_t stride_from_last(const Layout& layout, size_t from_last);

}  // namespace cleave::loop
