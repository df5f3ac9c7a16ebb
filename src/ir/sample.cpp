#include "ir/sample.h"

namespace cleave {

SampleTensor::SampleTensor(Type t) : type(std::move(t)) {}
SampleTensor::SampleTensor(const SampleTensor& from) = default;
SampleTensor::SampleTensor(SampleTensor&& from) noexcept = default;
SampleTensor& SampleTensor::operator=(const SampleTensor& from) = default;
SampleTensor& SampleTensor::operator=(SampleTensor&& from) noexcept = default;
SampleTensor::~SampleTensor() = default;

SampleTensor SampleTensor::range(double a, double b) const {
  SampleTensor t = *this;
  t.lo = a;
  t.hi = b;
  return t;
}

SampleTensor SampleTensor::ties(int n) const {
  SampleTensor t = *this;
  t.distinct = n;
  return t;
}

SampleTensor SampleTensor::with(std::vector<double> v) const {
  SampleTensor t = *this;
  t.values = std::move(v);
  return t;
}

SampleOperand::SampleOperand(SampleTensor t) { tensors.push_back(std::move(t)); }
SampleOperand::SampleOperand(std::vector<SampleTensor> l) : tensors(std::move(l)), is_list(true) {}
SampleOperand::SampleOperand(std::nullopt_t) : is_none(true) {}
SampleOperand::SampleOperand(double v) : number(v) {}
SampleOperand::SampleOperand(int v) : number(v) {}
SampleOperand::SampleOperand(bool v) : number(v) {}
SampleOperand::SampleOperand(const SampleOperand& from) = default;
SampleOperand::SampleOperand(SampleOperand&& from) noexcept = default;
SampleOperand& SampleOperand::operator=(const SampleOperand& from) = default;
SampleOperand& SampleOperand::operator=(SampleOperand&& from) noexcept = default;
SampleOperand::~SampleOperand() = default;

SampleTensor sample(DType d, std::vector<int64_t> shape) {
  return SampleTensor(Type(d, Shape(shape.begin(), shape.end())));
}

SampleTensor f64(std::vector<int64_t> s) { return sample(DType::f64, std::move(s)); }
SampleTensor f32(std::vector<int64_t> s) { return sample(DType::f32, std::move(s)); }
SampleTensor bf16(std::vector<int64_t> s) { return sample(DType::bf16, std::move(s)); }
SampleTensor f16(std::vector<int64_t> s) { return sample(DType::f16, std::move(s)); }
SampleTensor i64(std::vector<int64_t> s) { return sample(DType::i64, std::move(s)).range(-9, 10); }
SampleTensor i32(std::vector<int64_t> s) { return sample(DType::i32, std::move(s)).range(-9, 10); }
SampleTensor boolean(std::vector<int64_t> s) {
  return sample(DType::boolean, std::move(s)).range(0, 2);
}

template <class List>
Lazy<List>::Lazy(List (*make)())
    : list_of_([](const void* m) { return (*static_cast<List (*const*)()>(m))(); }),
      make_(std::make_shared<List (*const)()>(make)) {}
template <class List>
List Lazy<List>::operator()() const {
  return list_of_ ? list_of_(make_.get()) : List();
}
template <class List>
Lazy<List>::Lazy(const Lazy& from) = default;
template <class List>
Lazy<List>::Lazy(Lazy&& from) noexcept = default;
template <class List>
Lazy<List>& Lazy<List>::operator=(const Lazy& from) = default;
template <class List>
Lazy<List>& Lazy<List>::operator=(Lazy&& from) noexcept = default;
template <class List>
Lazy<List>::~Lazy() = default;

}  // namespace cleave

template class std::vector<cleave::Sample>;
template class std::vector<cleave::Reject>;
template class cleave::Lazy<cleave::Samples>;
template class cleave::Lazy<cleave::Rejects>;
