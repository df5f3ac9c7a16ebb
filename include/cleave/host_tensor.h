// A tensor in host memory: the inputs and outputs of programs.
//
//   HostTensor x(DType::f32, {2, 3});                       // zeros, aligned to 64 bytes
//   x.at<float>({0, 2}) = 1;
//   HostTensor y = HostTensor::from<int64_t>({1, 2, 3});    // i64[3]
//   HostTensor z = HostTensor::borrow(DType::f32, {4}, p);  // the caller keeps the memory
//   HostTensor t = HostTensor::borrow(DType::f32, {2, 3}, {1, 2}, q);  // column-major
//
// Element (i,j) lies i stride(0) + j stride(1) elements from the first one; without given strides
// the elements are row-major, and dense. Strides are where elements lie, and change no value: at(),
// number(), to_vector() go by index, k counts in row-major order, and equal elements are equal
// whatever their strides. data<T>() and span<T>() are for row-major tensors alone; data() is the
// first element of any, and strides() says where the others are. A copy keeps the strides, and
// copies no memory between elements; to(), reshaped() and contiguous() give row-major ones.
//
// bf16 and f16 are addressed as their uint16_t bits, or read by number() and converted by to(). A
// copy owns its memory, even the copy of a borrowing tensor; a move keeps the source's memory.
// Errors (user): a shape that is negative or beyond 2^60 bytes, strides that are negative, not one
// a dim or reach beyond 2^60 bytes, an element type that isn't the tensor's, an index out of range,
// data<T>() of a tensor that isn't row-major. Any number of threads may read one tensor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "cleave/dtype.h"
#include "cleave/error.h"

namespace cleave {

// Whether a dtype's elements can be addressed as T.
template <class T>
constexpr bool holds(DType t) {
  if constexpr (std::is_same_v<T, double>) return t == DType::f64;
  if constexpr (std::is_same_v<T, float>) return t == DType::f32;
  if constexpr (std::is_same_v<T, uint16_t>) return t == DType::bf16 || t == DType::f16;
  if constexpr (std::is_same_v<T, int64_t>) return t == DType::i64;
  if constexpr (std::is_same_v<T, int32_t>) return t == DType::i32;
  if constexpr (std::is_same_v<T, int16_t>) return t == DType::i16;
  if constexpr (std::is_same_v<T, int8_t>) return t == DType::i8;
  if constexpr (std::is_same_v<T, uint8_t>) return t == DType::u8;
  if constexpr (std::is_same_v<T, bool>) return t == DType::boolean;
  return false;
}
// The dtype whose elements are T; bf16 for uint16_t.
template <class T>
constexpr DType dtype_of() {
  for (int t = 0; t < dtype_count; ++t)
    if (holds<T>(static_cast<DType>(t))) return static_cast<DType>(t);
  return DType::f32;
}

class CLEAVE_API HostTensor {
 public:
  // f32[0].
  HostTensor();
  // Zeros.
  HostTensor(DType dtype, std::vector<int64_t> shape);
  // Zeros, in memory from the first element to the last.
  HostTensor(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides);
  HostTensor(const HostTensor& other);
  HostTensor(HostTensor&& other) noexcept;
  HostTensor& operator=(const HostTensor& other);
  HostTensor& operator=(HostTensor&& other) noexcept;
  ~HostTensor() = default;

  // Borrows memory of at least bytes() that the caller keeps alive, or that `keep` owns.
  static HostTensor borrow(DType dtype, std::vector<int64_t> shape, void* data,
                           std::shared_ptr<void> keep = nullptr);
  // The same of extent_bytes(). Elements may lie in one place: a stride of 0 repeats a row.
  static HostTensor borrow(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                           void* data, std::shared_ptr<void> keep = nullptr);
  // A tensor of 0 dims.
  static HostTensor scalar(double value, DType dtype = DType::f32);
  // A copy of the values, with one dim, or with the given shape of as many elements.
  template <class T>
  static HostTensor from(const std::vector<T>& values) {
    return from(values, {static_cast<int64_t>(values.size())});
  }
  template <class T>
  static HostTensor from(const std::vector<T>& values, std::vector<int64_t> shape) {
    HostTensor t(dtype_of<T>(), std::move(shape));
    t.require_count(values.size());
    T* out = t.data<T>();
    for (const T& v : values) *out++ = v;
    return t;
  }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t numel() const { return numel_; }
  int64_t bytes() const { return numel_ * size_of(dtype_); }  // of the elements
  // From the first element to the end of the last; bytes() if it is row-major.
  int64_t extent_bytes() const;
  // One a dim, in elements. Those of dims of size 1, and of tensors without elements, mean nothing:
  // they are row-major ones here.
  std::vector<int64_t> strides() const;
  // That of a dim from 0 on, without allocating.
  int64_t stride(int64_t dim) const;
  bool is_row_major() const { return strides_.empty(); }
  bool borrows() const { return borrows_; }
  std::string type_text() const;  // "f32[2,3]", "f32[2,3]{1,2}" if it isn't row-major

  // ---- of row-major tensors, but data() without a type

  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  template <class T>
  T* data() {
    require_row_major();
    return first<T>();
  }
  template <class T>
  const T* data() const {
    return const_cast<HostTensor*>(this)->data<T>();
  }
  template <class T>
  std::span<T> span() {
    return {data<T>(), static_cast<size_t>(numel_)};
  }
  template <class T>
  std::span<const T> span() const {
    return {data<T>(), static_cast<size_t>(numel_)};
  }

  // ---- of all
  template <class T>
  T& at(std::initializer_list<int64_t> index) {
    return first<T>()[position(index)];
  }
  template <class T>
  const T& at(std::initializer_list<int64_t> index) const {
    return const_cast<HostTensor*>(this)->first<T>()[position(index)];
  }
  // Element k, in row-major order, as float64; set_number rounds to nearest even (for integers it
  // truncates).
  double number(int64_t k) const;
  void set_number(int64_t k, double value);
  // The element of a tensor that has exactly one.
  double item() const;
  // The elements converted to T.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> v(static_cast<size_t>(numel_));
    for (int64_t k = 0; k < numel_; ++k)
      v[k] = std::is_integral_v<T> && !is_floating(dtype_) ? static_cast<T>(integer(k))
                                                           : static_cast<T>(number(k));
    return v;
  }
  // Converts to another dtype: floating rounds to nearest even, float to integer truncates.
  HostTensor to(DType dtype) const;
  // The same elements in another shape of as many elements.
  HostTensor reshaped(std::vector<int64_t> shape) const;
  // The same elements, row-major: a copy.
  HostTensor contiguous() const;
  // Copies the elements of a tensor of the same dtype and shape, and any strides.
  void copy_from(const HostTensor& other);
  // Same dtype, shape and bytes of each element.
  bool same_bits(const HostTensor& other) const;

 private:
  template <class T>
  T* first() {
    require_type(holds<T>(dtype_), name_of(dtype_of<T>()));
    return static_cast<T*>(data());
  }
  int64_t place_of(int64_t k) const;  // of element k in memory, in elements
  void set_layout(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides);
  void require_row_major() const;
  int64_t integer(int64_t k) const;
  int64_t position(std::initializer_list<int64_t> index) const;
  void require_type(bool ok, std::string_view asked) const;
  void require_count(size_t count) const;

  DType dtype_ = DType::f32;
  bool borrows_ = false;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;  // empty: row-major
  int64_t numel_ = 0;
  std::shared_ptr<void> data_;
};

using HostTensors = std::vector<HostTensor>;

// Its type, and its elements in rows; of a dim of more than eight, where there are more than 200
// elements, the first and the last three.
//   f32[2,3]
//   [[1, 2, 3],
//    [4, 5, 6]]
CLEAVE_API std::ostream& operator<<(std::ostream& out, const HostTensor& t);

struct TensorType {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  int64_t numel() const {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    return n;
  }
  int64_t bytes() const { return numel() * size_of(dtype); }
};

}  // namespace cleave
