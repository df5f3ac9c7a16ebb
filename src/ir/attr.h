// Attribute values of a node, as the text writes them.
//
//   none  true  -3  s0*4  1.5  inf  "tanh"  f32  channels_last  [1,[2,none]]  @subgraph
//
// 1 and 1.0 differ. An integer is a Dim, so that sizes may be symbolic.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cleave/dtype.h"
#include "ir/dim.h"

namespace cleave {

class Graph;

enum class MemoryFormat : uint8_t { contiguous, channels_last, channels_last_3d, preserve };

class AttrValue;
using AttrList = std::vector<AttrValue>;
using GraphRef = std::shared_ptr<const Graph>;

class AttrValue {
 public:
  AttrValue();  // none
  AttrValue(bool v);
  AttrValue(int v);
  AttrValue(int64_t v);
  AttrValue(Dim v);
  AttrValue(double v);
  AttrValue(std::string v);
  AttrValue(const char* v);
  AttrValue(DType v);
  AttrValue(MemoryFormat v);
  AttrValue(AttrList v);
  AttrValue(GraphRef v);
  AttrValue(const std::vector<int64_t>& v);
  AttrValue(const std::vector<Dim>& v);
  AttrValue(const std::vector<bool>& v);
  AttrValue(std::initializer_list<int64_t> v) : AttrValue(std::vector<int64_t>(v)) {}
  // Defined out of line: inlining the copy of a variant of nine kinds bloats every file that uses
  // it.
  AttrValue(const AttrValue& from);
  AttrValue(AttrValue&& from) noexcept;
  AttrValue& operator=(const AttrValue& from);
  AttrValue& operator=(AttrValue&& from) noexcept;
  ~AttrValue();

  bool is_none() const { return value_.index() == 0; }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value_);
  }
  bool is_int() const { return get<Dim>() != nullptr; }
  bool is_number() const { return get<bool>() || get<Dim>() || get<double>(); }
  // The number as float64; NaN for a symbolic size.
  double as_double() const;
  // Same kind and same value; NaN equals NaN, but 0.0 and -0.0 differ.
  friend bool operator==(const AttrValue& a, const AttrValue& b);
  std::string text() const;
  uint64_t hash() const;

 private:
  std::variant<std::monostate, bool, Dim, double, std::string, DType, MemoryFormat, AttrList,
               GraphRef>
      value_;
};

std::string_view name_of(MemoryFormat f);
// The shortest text that reads back as the same double, always with '.', 'e', inf or nan.
std::string double_text(double v);
// "..." with \\ \" \n \t and \xNN escapes.
std::string quoted(const std::string& s);

}  // namespace cleave
