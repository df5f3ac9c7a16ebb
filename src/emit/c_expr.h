// Writes expressions as C text; shared subtrees are named once.
#pragma once
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loop/kernel.h"
#include "loop/shared_parts.h"

namespace cleave::emit {

// A number: 1.5f, 256
std::string c_constant(const loop::ExprNode& e);
// float, double, int64_t, int32_t, int
std::string_view c_type(DType compute);
// The element type of a buffer in memory: float, uint16_t for bf16, uint8_t for bool, ...
std::string_view c_storage_type(DType stored);
// Text that stores `value` (in the compute type) as an element of the dtype.
std::string c_stored(DType stored, const std::string& value);
// The value without a rounding to bf16 or f16 that the store repeats.
const loop::Expr& before_rounding(const loop::Expr& value, DType stored);

// Whether the function of this type is one of elementary_functions.h.
bool is_elementary(loop::Op op, DType t);

// The C names of a kernel's buffers, and which of these and of its scalars a phase uses.
class BufferNames {
 public:
  explicit BufferNames(const loop::Kernel& kernel) : scalars_(kernel.scalars.size()) {}
  void add(std::string name) { names_.push_back({std::move(name), false}); }
  const std::string& use(size_t buffer) {
    names_[buffer].second = true;
    return names_[buffer].first;
  }
  const std::string& name(size_t buffer) const { return names_[buffer].first; }
  bool used(size_t buffer) const { return names_[buffer].second; }
  // A variable; those of scalars count down from -1.
  void use_variable(int64_t id) {
    if (id < 0) scalars_[static_cast<size_t>(-1 - id)] = true;
  }
  bool scalar_used(size_t scalar) const { return scalars_[scalar]; }
  void forget_uses() {
    for (auto& n : names_) n.second = false;
    scalars_.assign(scalars_.size(), false);
  }

 private:
  std::vector<std::pair<std::string, bool>> names_;
  std::vector<bool> scalars_;
};

// Writes the expressions of one statement. What is computed before it (loop/shared_parts.h) becomes
// constants in `lines`.
class ExprWriter {
 public:
  ExprWriter(const loop::Kernel& kernel, BufferNames& buffers,
             const std::unordered_map<int64_t, std::string>& lane_vars, int& next_temp)
      : kernel_(kernel), buffers_(buffers), lane_vars_(lane_vars), next_temp_(next_temp) {}

  // Returns the text of the expressions, after appending shared parts to `lines`.
  std::vector<std::string> write(const std::vector<loop::Expr>& roots,
                                 std::vector<std::string>& lines);

 private:
  std::string text(const loop::Expr& e, std::vector<std::string>& lines);
  std::string plain(const loop::Expr& e, std::vector<std::string>& lines);
  bool is_positive(const loop::Expr& e) const;

  const loop::Kernel& kernel_;
  BufferNames& buffers_;
  const std::unordered_map<int64_t, std::string>& lane_vars_;
  int& next_temp_;
  loop::SharedParts parts_;
  std::unordered_map<const loop::ExprNode*, std::string> named_;
};

}  // namespace cleave::emit
