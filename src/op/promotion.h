// ATen's type promotion: the dtype to which operands are converted.
//
// Operands fall into three classes: tensors with dims, 0-d tensors, and numbers. A lower class
// changes the result only if its category (bool < integer < floating) is higher than that of all
// classes above it; a number then counts as bool, i64 or f32.
//
//   i32[3] + i64[]   -> i32      same category: the tensor with dims decides
//   i32[3] + 1.5     -> f32
//   bf16[3] + f32[]  -> bf16
//   bool[3] + 1      -> i64
//
// Source: c10/core/ScalarType.h promoteTypes and ATen/native/TypeProperties.cpp result_type,
// PyTorch 2.13.
#pragma once
#include <initializer_list>
#include <optional>

#include "ir/op_view.h"

namespace cleave {

// bool for a bool, i64 for an integer, f32 for a float.
DType number_dtype(const AttrValue& number);

class Promotion {
 public:
  void add(const Type& tensor);
  void add_number(const AttrValue& number);
  // Adds a tensor or a number; adds nothing if the operand is none.
  void add_operand(const OpView& op, int operand);
  // Returns f32 if nothing was added.
  DType result() const;

 private:
  std::optional<DType> dims_, scalars_, numbers_;
};

// The promoted dtype of these operands.
DType promoted(const OpView& op, std::initializer_list<int> operands);
// The floating dtype of t: integers and bool become f32.
DType to_floating(DType t);

}  // namespace cleave
