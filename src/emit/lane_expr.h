// Writes expressions for 16 or 64 lanes as C text: values that all lanes share are scalar text of
// c_expr.h, all others are vectors.
//
//   x[i] * s + y[j]      (get_f32x16(x_ + i) * s + all_f32x16(y_[j]))
//
// An arm of a select reads memory only in the lanes that take it.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "emit/c_expr.h"
#include "schedule/lane_strides.h"

namespace cleave::emit {

using schedule::LaneStride;
using schedule::LaneStrides;
using schedule::loop_lanes;

// "f32x16"; truth values are i32 lanes.
std::string lane_type(DType compute, int lanes);
// The lanes of a dtype in memory, "u16x16" for bf16.
std::string memory_lane_type(DType stored, int lanes);
// `value` (in the compute type) as lanes of the dtype in memory.
std::string stored_lanes(DType stored, int lanes, const std::string& value);

struct LaneLoop {
  int lanes = loop_lanes;
  std::string left;                  // the C name of the number of active lanes; empty: all
  const loop::Loop* loop = nullptr;  // whose iterations the lanes are
  LaneStrides strides = {};
  std::vector<std::string> before = {};  // lines before the loop
};

class LaneExprWriter {
 public:
  LaneExprWriter(const loop::Kernel& kernel, BufferNames& buffers, LaneLoop& loop, int& next_temp)
      : kernel_(kernel), buffers_(buffers), loop_(loop), next_temp_(next_temp) {}

  // Returns vectors, after appending the lines that name shared parts of them.
  std::vector<std::string> vectors(const std::vector<loop::Expr>& roots,
                                   std::vector<std::string>& lines);
  // The value that all lanes share, or the first lane's value of one that has a lane stride.
  std::string first(const loop::Expr& e, std::vector<std::string>& lines);

 private:
  struct Text {
    std::string text;
    bool shared = false;  // a scalar
  };
  // `on` is the vector of the lanes that reach the expression; empty: all.
  Text value(const loop::Expr& e, const std::string& on);
  std::string vector(const loop::Expr& e, const std::string& on);
  std::string vector(const Text& v, DType type) const;
  std::string made(const loop::Expr& e, const std::string& on);
  std::string load(const loop::Expr& e, const std::string& on);
  std::string select(const loop::Expr& e, const std::string& on);
  std::string infix(const loop::Expr& e, std::string_view sign, const std::string& on);
  std::string cast(const loop::Expr& e, const std::string& on);
  std::string rounded(const loop::Expr& e, const std::string& on);
  std::string call(const loop::Expr& e, const std::string& on);
  // Whether it is computed of numbers of elements, not of operands' values.
  bool is_computed(const loop::Expr& e) const;
  // Whether there is one value for the whole loop, not only for the lanes of an iteration.
  bool is_fixed(const loop::Expr& e) const;
  std::string named(DType type, const std::string& text);
  std::string type_of(const loop::Expr& e) const { return lane_type(e.type(), loop_.lanes); }
  std::string x(std::string_view name) const;  // the name with x16 or x64

  const loop::Kernel& kernel_;
  BufferNames& buffers_;
  LaneLoop& loop_;
  int& next_temp_;
  std::vector<std::string>* lines_ = nullptr;
  loop::SharedParts parts_;
  std::unordered_map<const loop::ExprNode*, std::string> named_;
};

}  // namespace cleave::emit
