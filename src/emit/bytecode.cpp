#include "emit/bytecode.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/alignment.h"
#include "emit/instruction.h"
#include "loop/sum_blocks.h"

namespace cleave::emit {

using namespace cleave::loop;
using Kind = Instruction::Kind;

namespace {

int32_t narrow(size_t n) { return static_cast<int32_t>(n); }

Slot constant_slot(const ExprNode& e) {
  Slot s{};
  switch (e.type) {
    case DType::f64: s.f64 = e.f; break;
    case DType::f32: s.f32 = static_cast<float>(e.f); break;
    case DType::i64: s.i64 = e.i; break;
    default: s.i32 = static_cast<int32_t>(e.i); break;
  }
  return s;
}

}  // namespace

// Writes one phase after another; a variable keeps its slot for the whole phase.
class BytecodeWriter {
 public:
  explicit BytecodeWriter(const Kernel& k) : k_(k) {}

  BytecodeKernel write() {
    for (size_t i = 0; i < k_.body.size();) {
      begin_phase();
      auto* loop = std::get_if<For>(&k_.body[i].node);
      int64_t extent = 1;
      if (loop && loop->kind == ForKind::parallel) {
        if (const int64_t* n = loop->loop.extent.as_const_int()) extent = *n;
        const int32_t var = variable(loop->loop.var);
        move(var, code_->begin_);
        counted(var, code_->end_, [&] { block(loop->body); });
        ++i;
      } else {
        for (; i < k_.body.size(); ++i) {
          auto* next = std::get_if<For>(&k_.body[i].node);
          if (next && next->kind == ForKind::parallel) break;
          stmt(k_.body[i]);
        }
      }
      put({.kind = Kind::stop});
      out_.phases.push_back({std::move(code_), extent});
    }
    return std::move(out_);
  }

 private:
  void begin_phase() {
    code_ = std::make_shared<Bytecode>(k_.buffers.size(), k_.scalars.size());
    for (size_t b = 0; b < k_.buffers.size(); ++b)
      if (k_.buffers[b].access == Access::local) code_->add_local(b, k_.buffers[b]);
    variables_.clear();
    constants_.clear();
    // KernelBuilder numbers scalars from -1 down.
    for (size_t s = 0; s < k_.scalars.size(); ++s)
      variables_[-1 - static_cast<int64_t>(s)] = narrow(k_.buffers.size() + s);
  }

  // ---- slots and instructions
  int32_t slot() {
    code_->slots_.push_back({});
    return narrow(code_->slots_.size() - 1);
  }
  int32_t variable(const Expr& var) {
    auto [it, fresh] = variables_.try_emplace(var->i, 0);
    if (fresh) it->second = slot();
    return it->second;
  }
  int32_t here() const { return narrow(code_->code_.size()); }
  size_t put(Instruction i) {
    code_->code_.push_back(i);
    return code_->code_.size() - 1;
  }
  void land(size_t jump) { code_->code_[jump].target = here(); }
  void move(int32_t dst, int32_t from) {
    if (dst != from) put({.dst = dst, .a = from, .function = move_function()});
  }
  int32_t integer(int64_t v) { return value_of(constant_int(DType::i64, v)); }

  // Runs `body` while var < extent, starting from var's current value.
  template <class F>
  void counted(int32_t var, int32_t extent, F body) {
    const int32_t less = slot();
    put({.dst = less, .a = var, .b = extent, .function = function_of(Op::lt, DType::i64)});
    const size_t skip = put({.kind = Kind::jump_if_zero, .a = less});
    const int32_t top = here();
    body();
    put({.kind = Kind::next, .a = var, .b = extent, .target = top});
    land(skip);
  }
  template <class F>
  void loop(const Loop& l, F body) {
    const int32_t extent = value_of(l.extent), var = variable(l.var);
    move(var, integer(0));
    counted(var, extent, std::move(body));
  }

  // ---- expressions. Shared subtrees of one statement are computed once; values computed in an arm
  // of a select aren't reused outside it.
  int32_t value_of(const Expr& e) {
    known_.clear();
    return value(e);
  }
  int32_t value(const Expr& e) {
    if (e->op == Op::constant) return constant_of(*e);
    if (e->op == Op::var) return variable(e);
    if (auto it = known_.find(&*e); it != known_.end()) return it->second;
    const int32_t dst = e->op == Op::select ? select(*e) : computed(*e);
    known_[&*e] = dst;
    return dst;
  }
  int32_t constant_of(const ExprNode& e) {
    const Slot s = constant_slot(e);
    auto [it, fresh] = constants_.try_emplace({e.type, s.i64}, 0);
    if (fresh) {
      it->second = slot();
      code_->slots_.back() = s;
    }
    return it->second;
  }
  int32_t computed(const ExprNode& e) {
    Instruction i;
    int32_t* operands[] = {&i.a, &i.b, &i.c, &i.d};
    const size_t first = e.op == Op::load ? 1 : 0;
    for (size_t k = 0; k < e.args.size(); ++k) *operands[first + k] = value(e.args[k]);
    if (e.op == Op::load) {
      i.a = static_cast<int32_t>(e.i);
      i.function = memory_functions(k_.buffers[static_cast<size_t>(e.i)].dtype).load;
    } else if (e.op == Op::cast) {
      i.function = e.i ? round_function(static_cast<DType>(e.i - 1))
                       : cast_function(e.args[0].type(), e.type);
    } else {
      i.function = function_of(e.op, e.args[0].type());
    }
    i.dst = slot();
    put(i);
    return i.dst;
  }
  int32_t select(const ExprNode& e) {
    const int32_t condition = value(e.args[0]), dst = slot();
    const auto before = known_;
    const size_t to_else = put({.kind = Kind::jump_if_zero, .a = condition});
    move(dst, value(e.args[1]));
    const size_t to_end = put({.kind = Kind::jump});
    land(to_else);
    known_ = before;
    move(dst, value(e.args[2]));
    land(to_end);
    known_ = before;
    return dst;
  }

  // ---- statements
  void block(const Block& b) {
    for (const Stmt& s : b) stmt(s);
  }
  void stmt(const Stmt& s) {
    std::visit([&](const auto& n) { write(n); }, s.node);
  }
  void write(const For& f) {
    loop(f.loop, [&] { block(f.body); });
  }
  void write(const Let& s) { assign(s.var, s.value); }
  void write(const Define& s) { assign(s.var, s.value); }
  void write(const Assign& s) { assign(s.var, s.value); }
  void assign(const Expr& var, const Expr& value) {
    const int32_t from = value_of(value);
    move(variable(var), from);
  }
  void write(const Store& s) {
    known_.clear();
    const int32_t index = value(s.index), stored = value(s.value);
    put({.a = static_cast<int32_t>(s.buffer),
         .b = index,
         .c = stored,
         .function = memory_functions(k_.buffers[static_cast<size_t>(s.buffer)].dtype).store});
  }
  void write(const If& s) {
    const size_t skip = put({.kind = Kind::jump_if_zero, .a = value_of(s.condition)});
    block(s.then);
    land(skip);
  }
  void write(const Check& s) {
    out_.checks.push_back({s.message, s.from_zero});
    known_.clear();
    const int32_t condition = value(s.condition), at = value(s.value), bound = value(s.bound);
    put({.kind = Kind::check,
         .a = condition,
         .b = at,
         .c = bound,
         .target = narrow(out_.checks.size())});
  }

  // The slots that a Reduce folds into: `count` consecutive slots for each fold.
  struct Sums {
    const Reduce& r;
    size_t count;
    std::vector<int32_t> of_fold, totals;  // totals: of blocks, in f64
    bool has_total(const Fold& f) const { return r.blocks && rounds(f.op, f.var.type()); }
  };
  void fill(const Sums& sums, size_t fold, const std::vector<int32_t>& slots, DType type) {
    const int32_t identity = value_of(identity_of(sums.r.folds[fold].op, type));
    for (size_t l = 0; l < sums.count; ++l) move(slots[fold * sums.count + l], identity);
  }
  void add_blocks(const Sums& sums) {
    const int32_t wide = slot();
    for (size_t k = 0; k < sums.totals.size(); ++k) {
      const Fold& f = sums.r.folds[k / sums.count];
      if (!sums.has_total(f)) continue;
      put({.dst = wide, .a = sums.of_fold[k], .function = cast_function(f.var.type(), DType::f64)});
      put({.dst = sums.totals[k], .a = wide, .function = fold_function(f.op, DType::f64)});
    }
  }

  void write(const Reduce& r) {
    Sums sums{r, r.ordered ? size_t{1} : size_t{reduce_lanes}, {}, {}};
    for (size_t k = 0; k < sums.count * r.folds.size(); ++k) sums.of_fold.push_back(slot());
    if (r.blocks)
      for (size_t k = 0; k < sums.of_fold.size(); ++k) sums.totals.push_back(slot());
    for (size_t k = 0; k < r.folds.size(); ++k)
      if (sums.has_total(r.folds[k]))
        fill(sums, k, sums.totals, DType::f64);
      else
        fill(sums, k, sums.of_fold, r.folds[k].var.type());
    nest(sums, 0);
    for (size_t k = 0; k < r.folds.size(); ++k) {
      const Fold& f = r.folds[k];
      const bool total = sums.has_total(f);
      const DType t = total ? DType::f64 : f.var.type();
      const int32_t* lane = &(total ? sums.totals : sums.of_fold)[k * sums.count];
      for (size_t w = sums.count / 2; w; w >>= 1)
        for (size_t l = 0; l < w; ++l)
          put({.dst = lane[l], .a = lane[l + w], .function = fold_function(f.op, t)});
      if (t == f.var.type())
        move(variable(f.var), lane[0]);
      else
        put({.dst = variable(f.var), .a = lane[0], .function = cast_function(t, f.var.type())});
    }
  }
  void nest(const Sums& sums, size_t depth) {
    const Reduce& r = sums.r;
    if (depth == r.loops.size()) return element(sums);
    const auto inside = [&] { nest(sums, depth + 1); };
    if (!r.blocks || r.blocks->loop != depth) return loop(r.loops[depth], inside);
    // Block by block: `begin` and `end` are the first iterations of this block and the next.
    const int32_t extent = value_of(r.loops[depth].extent), var = variable(r.loops[depth].var);
    const int32_t step = integer(r.blocks->iterations), begin = slot(), end = slot();
    const int32_t less = slot();
    move(begin, integer(0));
    const int32_t top = here();
    put({.dst = less, .a = begin, .b = extent, .function = function_of(Op::lt, DType::i64)});
    const size_t leave = put({.kind = Kind::jump_if_zero, .a = less});
    put({.dst = end, .a = begin, .b = step, .function = function_of(Op::add, DType::i64)});
    put({.dst = end, .a = end, .b = extent, .function = function_of(Op::min, DType::i64)});
    for (size_t k = 0; k < r.folds.size(); ++k)
      if (sums.has_total(r.folds[k])) fill(sums, k, sums.of_fold, r.folds[k].var.type());
    move(var, begin);
    counted(var, end, inside);
    add_blocks(sums);
    move(begin, end);
    put({.kind = Kind::jump, .target = top});
    land(leave);
  }
  void element(const Sums& sums) {
    const Reduce& r = sums.r;
    block(r.body);
    known_.clear();
    std::vector<int32_t> values;
    for (const Fold& f : r.folds) values.push_back(value(f.value));
    for (size_t k = 0; k < r.folds.size(); ++k) {
      const ReduceOp op = r.folds[k].op;
      const DType t = r.folds[k].var.type();
      const int32_t sum = sums.of_fold[k * sums.count];
      if (r.ordered)
        put({.dst = sum, .a = values[k], .function = fold_function(op, t)});
      else
        put({.dst = sum,
             .a = values[k],
             .b = variable(r.loops.back().var),
             .function = lane_function(op, t)});
    }
  }

  struct ConstantHash {
    size_t operator()(const std::pair<DType, int64_t>& c) const {
      return std::hash<int64_t>()(c.second) * 31 + static_cast<size_t>(c.first);
    }
  };
  const Kernel& k_;
  BytecodeKernel out_;
  std::shared_ptr<Bytecode> code_;
  std::unordered_map<int64_t, int32_t> variables_;
  std::unordered_map<std::pair<DType, int64_t>, int32_t, ConstantHash> constants_;
  std::unordered_map<const ExprNode*, int32_t> known_;
};

BytecodeKernel emit_bytecode(const Kernel& kernel) {
  if (!kernel.is_scheduled) throw_bug("emit: {} is not scheduled", kernel.name);
  return BytecodeWriter(kernel).write();
}

Bytecode::Bytecode(size_t buffers, size_t scalars)
    : slots_(buffers + scalars + 2), buffers_(buffers), scalars_(scalars),
      begin_(narrow(buffers + scalars)), end_(begin_ + 1) {}
Bytecode::~Bytecode() = default;

void Bytecode::add_local(size_t buffer, const Buffer& b) {
  locals_.emplace_back(buffer, local_bytes_);
  local_bytes_ += rounded(b.elements * size_of(b.dtype));
}

int64_t Bytecode::run(void* const* buffer, const int64_t* scalar, int64_t begin, int64_t end,
                      int64_t* fault) const {
  constexpr size_t usual = 2048;  // on the stack, so that kernels allocate nothing
  Slot few[usual];
  thread_local std::vector<Slot> many;  // sized for the longest kernel that this thread has run
  if (slots_.size() > usual && many.size() < slots_.size()) many.resize(slots_.size());
  Slot* s = slots_.size() <= usual ? few : many.data();
  std::copy(slots_.begin(), slots_.end(), s);
  alignas(64) std::byte local[max_local_bytes];
  for (size_t b = 0; b < buffers_ - locals_.size(); ++b) s[b].buffer = buffer[b];
  for (const auto& [b, offset] : locals_) s[b].buffer = local + offset;
  for (size_t k = 0; k < scalars_; ++k) s[buffers_ + k].i64 = scalar[k];
  s[begin_].i64 = begin;
  s[end_].i64 = end;
  const Instruction* const code = code_.data();
  const Instruction* i = code;
  for (;;) switch (i->kind) {
      case Kind::call: i->function(s, *i), ++i; break;
      case Kind::jump: i = code + i->target; break;
      case Kind::jump_if_zero: i = s[i->a].i32 == 0 ? code + i->target : i + 1; break;
      case Kind::next: i = ++s[i->a].i64 < s[i->b].i64 ? code + i->target : i + 1; break;
      case Kind::check:
        if (s[i->a].i32 == 0) {
          fault[0] = s[i->b].i64;
          fault[1] = s[i->c].i64;
          return i->target;
        }
        ++i;
        break;
      case Kind::stop: return 0;
    }
}

}  // namespace cleave::emit
