// Tensors that record: an operation on them adds a node to the graph of a program, with the line of
// the call as its source. Nothing is computed until the program is compiled and run.
//
//   Tensor h = relu(linear(x, w, b));       // cleave/function.h has the functions
//   Tensor y = (h - h.mean(-1, true)) / 2.0;
//
// Names, arguments and types are PyTorch's. A Tensor is a handle: copies are the same value.
// Tensors made only of numbers and Variables (arange, full, constant, a parameter) belong to no
// program; they are copied into the first program that uses them, and may be used in any number of
// programs.
//
// Errors are thrown as cleave::Error at the line of the call: the operator's rule that is violated,
// prefixed with that line. A trace must stay on one thread.
#pragma once
#include <concepts>
#include <iosfwd>
#include <source_location>

#include "cleave/store.h"

namespace cleave {

using Location = std::source_location;

// A literal number: 1 and 1.0 differ, as they do in PyTorch.
class Number {
 public:
  enum class Kind : uint8_t { boolean, integer, floating };
  Number(bool v) : kind_(Kind::boolean), integer_(v) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Number(T v) : kind_(Kind::integer), integer_(static_cast<int64_t>(v)) {}
  template <std::floating_point T>
  Number(T v) : kind_(Kind::floating), floating_(static_cast<double>(v)) {}

  Kind kind() const { return kind_; }
  int64_t integer() const { return integer_; }  // of a boolean or an integer
  double floating() const { return kind_ == Kind::floating ? floating_ : double(integer_); }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  double floating_ = 0;
};

// An index, and the line of the call.
struct Index {
  template <std::integral T>
  Index(T i, Location at = Location::current()) : i(static_cast<int64_t>(i)), at(at) {}
  int64_t i = 0;
  Location at;
};

// Dims of a reduction: one or several; empty means all.
class DimList {
 public:
  DimList() = default;
  DimList(int64_t dim) : dims_{dim} {}
  DimList(std::initializer_list<int64_t> dims) : dims_(dims) {}
  DimList(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  const std::vector<int64_t>& dims() const { return dims_; }

 private:
  std::vector<int64_t> dims_;
};

namespace trace {
class Recording;
}

class Operand;

class CLEAVE_API Tensor {
 public:
  Tensor() = default;                // undefined: an operand that is not given
  Tensor(const Variable& variable);  // its value, in whichever program uses it

  bool defined() const { return recording_ != nullptr || leaf_.defined(); }
  // Its elements aren't known while it is recorded. Doesn't compile.
  template <class T = int>
  explicit operator bool() const {
    static_assert(std::is_void_v<T>,
                  "a Tensor has no value while it is traced: use cond(), where() or while_loop() "
                  "instead of if and while, and logical_and() instead of &&");
    return false;
  }
  DType dtype() const;
  int64_t dim() const;  // the number of dims
  std::vector<int64_t> sizes() const;
  int64_t size(int64_t dim) const;  // negative dims count from the end
  int64_t numel() const;
  std::string type_text() const;  // "f32[2,3]"
  // Names the value in the graph (and in kernels); if the name is taken, a number is appended.
  Tensor named(const std::string& name) const;

  // The most used functions of cleave/function.h, as members.
  Tensor view(const std::vector<int64_t>& size, Location at = Location::current()) const;
  Tensor reshape(const std::vector<int64_t>& size, Location at = Location::current()) const;
  Tensor permute(const std::vector<int64_t>& dims, Location at = Location::current()) const;
  Tensor transpose(int64_t dim0, int64_t dim1, Location at = Location::current()) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1,
                 Location at = Location::current()) const;
  Tensor unsqueeze(int64_t dim, Location at = Location::current()) const;
  Tensor squeeze(int64_t dim, Location at = Location::current()) const;
  Tensor expand(const std::vector<int64_t>& size, Location at = Location::current()) const;
  Tensor select(int64_t dim, int64_t index, Location at = Location::current()) const;
  Tensor slice(int64_t dim, int64_t start, int64_t end, int64_t step = 1,
               Location at = Location::current()) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0, Location at = Location::current()) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0,
                            Location at = Location::current()) const;
  Tensor sum(const DimList& dim = {}, bool keepdim = false,
             Location at = Location::current()) const;
  Tensor mean(const DimList& dim = {}, bool keepdim = false,
              Location at = Location::current()) const;
  Tensor relu(Location at = Location::current()) const;
  Tensor sigmoid(Location at = Location::current()) const;
  Tensor tanh(Location at = Location::current()) const;
  Tensor exp(Location at = Location::current()) const;
  Tensor log(Location at = Location::current()) const;
  Tensor sqrt(Location at = Location::current()) const;
  Tensor abs(Location at = Location::current()) const;
  Tensor softmax(int64_t dim, Location at = Location::current()) const;
  Tensor matmul(const Tensor& other, Location at = Location::current()) const;
  Tensor to(DType dtype, Location at = Location::current()) const;
  Tensor masked_fill(const Tensor& mask, const Number& value,
                     Location at = Location::current()) const;
  // x[i]: index i of the first dim, which is left out; negative ones count from the end.
  Tensor operator[](Index index) const { return select(0, index.i, index.at); }
  // This handle becomes the result; other copies keep their value.
  Tensor& operator+=(const Operand& other);
  Tensor& operator-=(const Operand& other);
  Tensor& operator*=(const Operand& other);
  Tensor& operator/=(const Operand& other);

 private:
  friend struct trace::Access;
  std::shared_ptr<trace::Recording> recording_;
  Variable leaf_;
  uint32_t value_ = 0xffffffff;
};

// A Tensor or a number, and the line of the call: the argument type of operators, since an operator
// can't have a default argument for its line.
class CLEAVE_API Operand {
 public:
  Operand(const Tensor& t, Location at = Location::current()) : tensor_(t), at_(at) {}
  Operand(const Variable& v, Location at = Location::current()) : tensor_(v), at_(at) {}
  template <class T>
    requires(std::integral<T> || std::floating_point<T>)
  Operand(T v, Location at = Location::current()) : Operand(Number(v), at) {}
  Operand(const Number& n, Location at = Location::current())
      : is_number_(true), number_(n), at_(at) {}

  bool is_number() const { return is_number_; }
  const Tensor& tensor() const { return tensor_; }
  const Number& number() const { return number_; }
  Location at() const { return at_; }

 private:
  Tensor tensor_;  // may be undefined, which operators refuse
  bool is_number_ = false;
  Number number_ = 0;
  Location at_;
};

CLEAVE_API Tensor operator+(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator-(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator*(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator/(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator-(const Operand& a);
CLEAVE_API Tensor operator<(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator<=(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator>(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator>=(const Operand& a, const Operand& b);
// Elementwise, as in PyTorch: eq and ne. (== of two Variables asks whether they are the same.)
CLEAVE_API Tensor operator==(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator!=(const Operand& a, const Operand& b);
// For booleans and integers: bitwise, as in PyTorch.
CLEAVE_API Tensor operator&(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator|(const Operand& a, const Operand& b);
CLEAVE_API Tensor operator~(const Operand& a);

// "%h: f32[64,10], model.cpp:12": its name, type, and the line that recorded it.
CLEAVE_API std::ostream& operator<<(std::ostream& out, const Tensor& t);

}  // namespace cleave
