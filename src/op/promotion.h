// ATen's type promotion: the dtype in which operands meet.
//
// Operands fall into three classes: tensors with dims, 0-d tensors, and numbers. A lower class
// changes the result only where its category (bool < integer < floating) is higher than that of all
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

// bool of a bool, i64 of an integer, f32 of a float.
DType number_dtype(const AttrValue& number);

class Promotion {
 public:
  void add(const Type& tensor);
  void add_number(const AttrValue& number);
  // A tensor, a number, or nothing where the operand is none.
  void add_operand(const OpView& op, int operand);
  // f32 where nothing was added.
  DType result() const;

 private:
  std::optional<DType> dims_, scalars_, numbers_;
};

// The dtype in which these operands meet.
DType promoted(const OpView& op, std::initializer_list<int> operands);
// The same, floating: integers and bool give f32.
DType to_floating(DType t);

}  // namespace cleave
