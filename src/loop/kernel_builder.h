// Writes the loop nest of one operator call: what custom `lower` rules use.
//
//   k.parallel({rows}, [&](const Exprs& i) {
//     Expr top = k.reduce(ReduceOp::max, {n}, [&](const Exprs& j) { return k.load(0, {i[0], j[0]});
//     });
//     k.loop(n, [&](Expr j) { k.store(0, {i[0], j}, exp(k.load(0, {i[0], j}) - top)); });
//   });
//
// Operands and results are addressed by multi-index; their layouts (strides, offset) are applied
// here. Loads are in the compute type of the operand's dtype.
#pragma once
#include <functional>
#include <memory>

#include "base/layout.h"
#include "ir/op_view.h"
#include "loop/kernel.h"

namespace cleave::loop {

using cleave::Layout;

struct Bound {
  int64_t buffer = -1;  // in Kernel::buffers; -1: none
  DType dtype = DType::f32;
  Layout layout;
};

// Gives an uninitialized buffer of the kernel itself.
using MakeScratch = std::function<Bound(DType, const std::vector<int64_t>& shape)>;

// The kernel that is written, the blocks that are open, and the next variable's number: what
// several builders share that write one kernel.
struct KernelSheet {
  Kernel& kernel;
  std::vector<Block*> open;
  int64_t next_var = 0;
  MakeScratch make_scratch = nullptr;
  bool many_threads = false;  // LoopChoices
  explicit KernelSheet(Kernel& k);
};

class KernelBuilder {
 public:
  // `operands` is one per flat operand (list items spread), `results` one per result.
  KernelBuilder(Kernel& kernel, std::vector<Bound> operands, std::vector<Bound> results);
  // Writes on a sheet of others, which outlives it.
  KernelBuilder(KernelSheet& sheet, std::vector<Bound> operands, std::vector<Bound> results);
  virtual ~KernelBuilder();
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  const Bound& operand(int flat) const { return operands_[flat]; }
  const Bound& result(int k) const { return results_[k]; }
  bool has(int flat) const { return operands_[flat].buffer >= 0; }
  bool wanted(int k) const { return results_[k].buffer >= 0; }  // false: result k is unused

  // Adds a result that belongs to the kernel itself, and gives its number.
  int scratch(DType dtype, const std::vector<int64_t>& shape);
  // LoopChoices: writes to places that are data are sorted first.
  bool has_many_threads() const { return sheet_.many_threads; }

  virtual Expr load(int flat, const Exprs& index);
  // `index` of a result that the operand broadcasts to: dims aligned at the right, size 1 repeats.
  Expr load_broadcast(int flat, const Exprs& index);
  // Does nothing where result k is not wanted. Casts to the compute type of its dtype.
  void store(int k, const Exprs& index, Expr value);
  // Reads a result's element back (for accumulation); the element must have been stored before.
  Expr load_result(int k, const Exprs& index);

  // One parallel loop nest over `extents`, outermost (call it at top level only, any number of
  // times one after the other; each writes disjoint elements in each iteration).
  void parallel(const std::vector<int64_t>& extents, const std::function<void(const Exprs&)>& body);
  // A lanes loop (kernel.h): at most column_lanes iterations, directly inside parallel().
  void lanes(Expr extent, const std::function<void(Expr)>& body);
  void loop(Expr extent, const std::function<void(Expr)>& body);
  // A loop whose iterations don't depend on one another (ForKind::independent).
  void each(Expr extent, const std::function<void(Expr)>& body);
  void loops(const std::vector<int64_t>& extents, const std::function<void(const Exprs&)>& body);
  Expr reduce(ReduceOp op, const std::vector<int64_t>& extents,
              const std::function<Expr(const Exprs&)>& value);
  // The same with an outermost extent that is computed.
  Expr reduce_loops(ReduceOp op, Expr outer, const std::vector<int64_t>& inner,
                    const std::function<Expr(const Exprs&)>& value);
  // Several folds in one pass, whose body may store. Gives one variable for each.
  struct Folded {
    ReduceOp op;
    Expr value;
  };
  Exprs folds(const Exprs& extents,
              const std::function<std::vector<Folded>(const Exprs& index)>& body);
  Expr let(Expr value, const std::string& name = "t");
  // A mutable variable.
  Expr define(Expr value, const std::string& name = "a");
  void assign(Expr var, Expr value);
  void if_(Expr condition, const std::function<void()>& then);
  // Reports an index that is not in [-bound, bound); gives the index wrapped to [0, bound).
  Expr checked_index(Expr index, int64_t bound, const std::string& what);
  // Reports an index that is not in [0, bound); gives it as i64.
  Expr checked_from_zero(Expr index, int64_t bound, const std::string& what);
  // Reports `what` unless the condition holds.
  void check(Expr condition, const std::string& what);
  // The same number in fewer operations, where the builder knows more of its variables.
  virtual Expr simplified(Expr index) { return index; }
  // Told of a variable that a check has found to lie in [0, bound).
  virtual void checked(const Expr& var, int64_t bound);
  // The `stream` attribute of a random operator, as a scalar argument of the kernel.
  virtual Expr stream();
  Expr fresh_var(const std::string& name, DType type);

 protected:
  KernelSheet& sheet() { return sheet_; }

 private:
  void for_(Expr extent, ForKind kind, const std::function<void(Expr)>& body);
  void emit(Stmt s);
  Expr address(const Bound& b, const Exprs& index) const;

  std::unique_ptr<KernelSheet> own_;  // where it isn't another's
  KernelSheet& sheet_;
  std::vector<Bound> operands_, results_;
};

}  // namespace cleave::loop
