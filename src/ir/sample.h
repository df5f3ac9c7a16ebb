// Sample calls of an operator, with which the laws test it (op_def.h).
//
//   Sample{{f32({2, 3}), i64({3}).range(0, 2)}, {{"dim", 1}}}
//
// The files of operators hold thousands of samples. So that copying them isn't compiled in each of
// these files, constructors, assignments and destructors are defined in sample.cpp.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/attr.h"
#include "ir/type.h"

namespace cleave {

// An operand that is a tensor, and what is in it.
struct SampleTensor {
  Type type;
  double lo = -2, hi = 2;      // uniform in [lo, hi), of integers too
  int distinct = 0;            // above 0: no more different values than that, so some are equal
  std::vector<double> values;  // if not empty: exactly these

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

// Any operand: a tensor, a list of tensors, a number, or none.
struct SampleOperand {
  std::vector<SampleTensor> tensors;  // the tensor, or the items of the list
  bool is_list = false, is_none = false;
  AttrValue number;  // of an operand that is a number, else none

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
  // By name. A graph is given as a string, the text of a file whose last graph it is.
  std::vector<std::pair<std::string, AttrValue>> attrs = {};
};

// A call that the operator refuses.
struct Reject {
  std::string rule;  // "C1"
  Sample call;
  std::string message;  // all of the failure's text
};

using Samples = std::vector<Sample>;
using Rejects = std::vector<Reject>;

// A list that is made anew whenever it is read; without a function, an empty one. Few programs read
// the samples, and making those of all operators takes longer than all else at the start. Copies
// share the function.
template <class List>
class Lazy {
 public:
  Lazy() = default;
  Lazy(List (*make)());
  template <class Make>
    requires(std::is_convertible_v<const Make&, List (*)()>)
  Lazy(const Make& make) : Lazy(static_cast<List (*)()>(make)) {}
  template <class Make>
    requires(std::is_same_v<std::invoke_result_t<const Make&>, List> &&
             !std::is_convertible_v<const Make&, List (*)()>)
  Lazy(Make make)
      : list_of_([](const void* m) { return (*static_cast<const Make*>(m))(); }),
        make_(std::make_shared<const Make>(std::move(make))) {}

  List operator()() const;

  // Not inline, as those of a Slot.
  Lazy(const Lazy& from);
  Lazy(Lazy&& from) noexcept;
  Lazy& operator=(const Lazy& from);
  Lazy& operator=(Lazy&& from) noexcept;
  ~Lazy();

 private:
  List (*list_of_)(const void* make) = nullptr;
  std::shared_ptr<const void> make_;
};

// Tensors of a dtype and a shape; i64 and i32 in [-9, 10), boolean of both values.
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
extern template class cleave::Lazy<cleave::Samples>;
extern template class cleave::Lazy<cleave::Rejects>;
