// Sample calls of an operator: they drive the generic laws (op_def.h).
//
//   Sample{{f32({2, 3}), i64({3}).range(0, 2)}, {{"dim", 1}}}
//
// What these types do as values is compiled once, in sample.cpp: operators' files hold thousands.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/attr.h"
#include "ir/type.h"

namespace cleave {

// Contents of a sample operand.
struct SampleTensor {
  Type type;
  double lo = -2, hi = 2;      // uniform in [lo, hi); integers in [lo, hi)
  int distinct = 0;            // > 0: only so many different values, to make ties
  std::vector<double> values;  // when not empty, exactly these

  explicit SampleTensor(Type t);
  SampleTensor(const SampleTensor& from);
  SampleTensor(SampleTensor&& from) noexcept;
  SampleTensor& operator=(const SampleTensor& from);
  SampleTensor& operator=(SampleTensor&& from) noexcept;
  ~SampleTensor();

  SampleTensor range(double a, double b) const;
  SampleTensor ties(int n) const;
  SampleTensor with(std::vector<double> v) const;
};

// A tensor, none, a number, or a list of tensors.
struct SampleOperand {
  std::vector<SampleTensor> tensors;  // one, or the items of a list
  bool is_list = false, is_none = false;
  AttrValue number;  // not none: a number stands for the operand

  SampleOperand(SampleTensor t);
  SampleOperand(std::vector<SampleTensor> l);
  SampleOperand(std::nullopt_t);
  SampleOperand(double v);
  SampleOperand(int v);
  SampleOperand(bool v);
  SampleOperand(const SampleOperand& from);
  SampleOperand(SampleOperand&& from) noexcept;
  SampleOperand& operator=(const SampleOperand& from);
  SampleOperand& operator=(SampleOperand&& from) noexcept;
  ~SampleOperand();
};

struct Sample {
  std::vector<SampleOperand> operands;
  // A Graph is given as its text (a string): the file's last graph.
  std::vector<std::pair<std::string, AttrValue>> attrs = {};
};

struct Reject {
  std::string rule;  // "C1"
  Sample call;
  std::string message;  // the whole text of the failure
};

// Sample tensors by dtype: f32({2,3}), i64({4}).range(0, 9), boolean({2}).
SampleTensor sample(DType d, std::vector<int64_t> shape);
SampleTensor f64(std::vector<int64_t> s);
SampleTensor f32(std::vector<int64_t> s);
SampleTensor bf16(std::vector<int64_t> s);
SampleTensor f16(std::vector<int64_t> s);
SampleTensor i64(std::vector<int64_t> s);
SampleTensor i32(std::vector<int64_t> s);
SampleTensor boolean(std::vector<int64_t> s);

}  // namespace cleave

extern template class std::vector<cleave::Sample>;
extern template class std::vector<cleave::Reject>;
