#include "simt/simulate.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "emit/instruction.h"
#include "loop/replace.h"
#include "simt/scopes.h"
#include "simt/shadow.h"

namespace cleave::simt {
namespace {

using emit::Instruction;
using emit::Slot;
using loop::Op;
using Values = std::vector<Slot>;   // by thread
using Threads = std::vector<char>;  // those that take part

int width_of(const Block& b) {
  int out = 1;
  for (const Stmt& s : b) {
    if (auto* w = std::get_if<Barrier>(&s.node)) out = std::max(out, w->width);
    if (auto* x = std::get_if<Exchange>(&s.node)) out = std::max(out, x->width);
    if (auto* f = std::get_if<For>(&s.node)) out = std::max(out, width_of(f->body));
    if (auto* i = std::get_if<If>(&s.node))
      out = std::max({out, width_of(i->then), width_of(i->otherwise)});
  }
  return out;
}

// Runs the blocks of a phase.
class PhaseRun {
 public:
  PhaseRun(const Kernel& kernel, const Phase& phase, size_t first_check,
           std::span<void* const> buffers, std::span<const int64_t> scalars, Simulation& out)
      : kernel_(kernel), phase_(phase), first_check_(first_check), buffers_(buffers),
        scalars_(scalars), out_(out), threads_(static_cast<size_t>(phase.threads)),
        team_(std::max(1, width_of(phase.body))) {
    if (team_ < phase.threads && team_ > warp_lanes) team_ = phase.threads;
  }

  // Returns how many checks the phase has.
  size_t run() {
    number_checks(phase_.body);
    if (const std::string twice = declared_twice(phase_); !twice.empty())
      defect("{} is declared twice in one scope", twice);
    for (block_ = 0; block_ < phase_.blocks && !is_over(); ++block_) run_block();
    return checks_.size();
  }

 private:
  bool is_over() const { return out_.fault || has_defect_; }

  void number_checks(const Block& b) {
    for (const Stmt& s : b) {
      if (auto* c = std::get_if<Check>(&s.node)) checks_.emplace(c, checks_.size());
      if (auto* f = std::get_if<For>(&s.node)) number_checks(f->body);
      if (auto* i = std::get_if<If>(&s.node)) number_checks(i->then), number_checks(i->otherwise);
    }
  }

  void run_block() {
    variables_.clear();
    own_.clear();
    shared_shadow_ = {};
    waits_.assign(threads_ / static_cast<size_t>(team_) + 1, 0);
    gone_.assign(threads_, 0);
    ahead_.assign(threads_, {});
    Values block(threads_), thread(threads_);
    for (size_t t = 0; t < threads_; ++t) {
      set_integer(block[t], phase_.block.type(), block_);
      set_integer(thread[t], phase_.thread.type(), static_cast<int64_t>(t));
    }
    variables_[phase_.block->id()] = std::move(block);
    variables_[phase_.thread->id()] = std::move(thread);
    for (size_t s = 0; s < kernel_.scalars.size(); ++s) {
      Values v(threads_);
      for (Slot& slot : v) slot.i64 = scalars_[s];
      variables_[-1 - static_cast<int64_t>(s)] = std::move(v);
    }
    statements(phase_.body, Threads(threads_, 1));
  }

  static void set_integer(Slot& s, DType type, int64_t value) {
    if (type == DType::i64)
      s.i64 = value;
    else
      s.i32 = static_cast<int32_t>(value);
  }
  static int64_t integer(const Slot& s, DType type) { return type == DType::i64 ? s.i64 : s.i32; }

  template <class... Args>
  void defect(fmt::format_string<Args...> text, Args&&... args) {
    if (!has_defect_)
      out_.defects.push_back(
          fmt::format("{}: {}", kernel_.name, fmt::format(text, std::forward<Args>(args)...)));
    has_defect_ = true;
  }

  // ---- memory
  struct Own {  // of threads or of the block
    std::vector<std::byte> bytes;
    std::vector<char> is_written;
  };
  const Buffer& buffer(int64_t b) const { return kernel_.buffers[static_cast<size_t>(b)]; }
  Own& own(int64_t b) {
    Own& o = own_[b];
    if (o.bytes.empty()) {
      const size_t copies = buffer(b).space == Space::thread ? threads_ : 1;
      const size_t elements = static_cast<size_t>(std::max<int64_t>(buffer(b).elements, 1));
      o.bytes.resize(copies * elements * size_of(buffer(b).dtype));
      o.is_written.resize(copies * elements);
    }
    return o;
  }
  // The address of an element, or null and a defect.
  void* element(int64_t b, int64_t index, size_t thread, bool is_write) {
    const Buffer& buffer = this->buffer(b);
    if (index < 0 || index >= std::max<int64_t>(buffer.elements, 1)) {
      defect("%{}[{}] is out of bounds, the buffer has {} elements", buffer.name, index,
             buffer.elements);
      return nullptr;
    }
    const auto at = static_cast<size_t>(index);
    std::byte* address;
    if (buffer.space == Space::global) {
      address =
          static_cast<std::byte*>(buffers_[static_cast<size_t>(b)]) + at * size_of(buffer.dtype);
    } else {
      Own& o = own(b);
      const size_t number =
          at + (buffer.space == Space::thread
                    ? thread * static_cast<size_t>(std::max<int64_t>(buffer.elements, 1))
                    : 0);
      address = o.bytes.data() + number * size_of(buffer.dtype);
      if (is_write)
        o.is_written[number] = 1;
      else if (!o.is_written[number])
        defect("%{}[{}] is read before it is written", buffer.name, index);
      if (buffer.space == Space::thread) return address;
    }
    const auto team = static_cast<int32_t>(thread / static_cast<size_t>(team_));
    const ThreadPlace by{block_, team, static_cast<int32_t>(thread),
                         waits_[static_cast<size_t>(team)]};
    // What a block shares is another element in each block.
    Shadow& shadow = buffer.space == Space::shared ? shared_shadow_ : shadow_;
    if (const auto other = is_write ? shadow.write(address, by) : shadow.read(address, by))
      defect("%{}[{}]: threads {} of block {} and {} of block {} race", buffer.name, index,
             other->thread, other->block, by.thread, by.block);
    return address;
  }
  void load(Slot& to, int64_t b, int64_t index, size_t thread) {
    Slot s[2];
    s[0].buffer = element(b, index, thread, false);
    s[1].i64 = 0;
    if (!s[0].buffer) return;
    Slot slots[3] = {s[0], s[1], to};
    emit::memory_functions(buffer(b).dtype).load(slots, {.dst = 2, .a = 0, .b = 1});
    to = slots[2];
  }
  void store(const Slot& value, int64_t b, int64_t index, size_t thread) {
    void* const at = element(b, index, thread, true);
    if (!at) return;
    Slot slots[3];
    slots[0].buffer = at, slots[1].i64 = 0, slots[2] = value;
    emit::memory_functions(buffer(b).dtype).store(slots, {.a = 0, .b = 1, .c = 2});
  }

  // ---- expressions
  using Known = std::unordered_map<const loop::ExprNode*, Values>;
  Values values(const Expr& e, const Threads& on) {
    Known known;
    return evaluated(e, on, known);
  }
  Values evaluated(const Expr& e, const Threads& on, Known& known) {
    if (e->op == Op::var) {
      const auto found = variables_.find(e->id());
      if (found == variables_.end()) {
        defect("{} is read before it is defined", e->name());
        return Values(threads_);
      }
      return found->second;
    }
    if (const auto found = known.find(&*e); found != known.end()) return found->second;
    Values out(threads_);
    if (e->op == Op::constant) {
      Slot s{};
      switch (e.type()) {
        case DType::f64: s.f64 = e->real(); break;
        case DType::f32: s.f32 = static_cast<float>(e->real()); break;
        case DType::i64: s.i64 = e->integer(); break;
        default: s.i32 = static_cast<int32_t>(e->integer()); break;
      }
      std::ranges::fill(out, s);
      return out;
    }
    if (e->op == Op::select) {
      const Values condition = evaluated(e->args[0], on, known);
      Threads arms[2] = {Threads(threads_), Threads(threads_)};
      for (size_t t = 0; t < threads_; ++t)
        if (on[t]) arms[condition[t].i32 ? 0 : 1][t] = 1;
      for (size_t arm = 0; arm < 2; ++arm) {
        if (std::ranges::count(arms[arm], 1) == 0) continue;
        Known inside = known;
        const Values v = evaluated(e->args[arm + 1], arms[arm], inside);
        for (size_t t = 0; t < threads_; ++t)
          if (arms[arm][t]) out[t] = v[t];
      }
    } else {
      std::vector<Values> args;
      for (const Expr& a : e->args) args.push_back(evaluated(a, on, known));
      operation(*e, args, on, out);
    }
    known[&*e] = out;
    return out;
  }
  void operation(const loop::ExprNode& e, const std::vector<Values>& args, const Threads& on,
                 Values& out) {
    emit::InstructionFunction function = nullptr;
    if (e.op == Op::round_to)
      function = emit::round_function(e.stored());
    else if (e.op == Op::cast)
      function = emit::cast_function(e.args[0].type(), e.type);
    else if (e.op != Op::load)
      function = emit::function_of(e.op, e.args[0].type());
    for (size_t t = 0; t < threads_; ++t) {
      if (!on[t]) continue;
      if (e.op == Op::load) {
        load(out[t], e.buffer(), integer(args[0][t], e.args[0].type()), t);
        continue;
      }
      Slot slots[5] = {};
      for (size_t k = 0; k < args.size(); ++k) slots[k + 1] = args[k][t];
      function(slots, {.dst = 0, .a = 1, .b = 2, .c = 3, .d = 4});
      out[t] = slots[0];
    }
  }

  // ---- statements
  void statements(const Block& b, const Threads& on) {
    for (const Stmt& s : b) {
      if (is_over()) return;
      Threads left = on;
      for (size_t t = 0; t < threads_; ++t)
        if (gone_[t]) left[t] = 0;
      if (std::ranges::count(left, 1) == 0) return;
      std::visit([&](const auto& n) { statement(n, left); }, s.node);
    }
  }
  void assign(const Expr& var, const Values& value, const Threads& on) {
    Values& to = variables_[var->id()];
    to.resize(threads_);
    for (size_t t = 0; t < threads_; ++t)
      if (on[t]) to[t] = value[t];
  }
  void statement(const Let& s, const Threads& on) { assign(s.var, values(s.value, on), on); }
  void statement(const Define& s, const Threads& on) { assign(s.var, values(s.value, on), on); }
  void statement(const Assign& s, const Threads& on) { assign(s.var, values(s.value, on), on); }
  void statement(const Store& s, const Threads& on) {
    Known known;
    const Values index = evaluated(s.index, on, known), value = evaluated(s.value, on, known);
    for (size_t t = 0; t < threads_; ++t)
      if (on[t]) store(value[t], s.buffer, integer(index[t], s.index.type()), t);
  }
  void statement(const If& s, const Threads& on) {
    const Values condition = values(s.condition, on);
    Threads then(threads_), otherwise(threads_);
    for (size_t t = 0; t < threads_; ++t)
      if (on[t]) (condition[t].i32 ? then : otherwise)[t] = 1;
    if (std::ranges::count(then, 1) > 0) statements(s.then, then);
    if (std::ranges::count(otherwise, 1) > 0) statements(s.otherwise, otherwise);
  }
  void statement(const For& f, const Threads& on) {
    const DType type = f.var.type();
    const Values begin = values(f.begin, on), end = values(f.end, on);
    std::vector<int64_t> at(threads_);
    for (size_t t = 0; t < threads_; ++t)
      if (on[t]) at[t] = integer(begin[t], f.begin.type());
    for (;;) {
      Threads in(threads_);
      Values v(threads_);
      for (size_t t = 0; t < threads_; ++t) {
        in[t] = on[t] && !gone_[t] && at[t] < integer(end[t], f.end.type());
        set_integer(v[t], type, at[t]);
        at[t] += f.step;
      }
      if (std::ranges::count(in, 1) == 0 || is_over()) return;
      assign(f.var, v, in);
      statements(f.body, in);
    }
  }
  void statement(const Check& s, const Threads& on) {
    Known known;
    const Values condition = evaluated(s.condition, on, known),
                 value = evaluated(s.value, on, known), bound = evaluated(s.bound, on, known);
    for (size_t t = 0; t < threads_; ++t) {
      if (!on[t] || condition[t].i32) continue;
      gone_[t] = 1;
      if (!out_.fault)
        out_.fault = Simulation::Failed{first_check_ + checks_.at(&s), value[t].i64, bound[t].i64};
    }
  }
  // All threads of each team that is there.
  void check_together(const char* what, int width, const Threads& on) {
    const auto team = static_cast<size_t>(width > warp_lanes ? phase_.threads : width);
    for (size_t first = 0; first < threads_; first += team) {
      size_t here = 0, left = 0;
      for (size_t t = first; t < std::min(first + team, threads_); ++t) {
        here += on[t] != 0;
        left += !gone_[t];
      }
      if (here > 0 && here < left)
        defect("{} of {} threads is reached by {} of the {} of a team", what, width, here, left);
    }
  }
  void statement(const Barrier& s, const Threads& on) {
    check_together("a barrier", s.width, on);
    for (size_t t = 0; t < threads_; t += static_cast<size_t>(team_))
      if (on[t]) ++waits_[t / static_cast<size_t>(team_)];
  }
  void statement(const Exchange& s, const Threads& on) {
    check_together("an exchange", s.width, on);
    const Values value = values(s.value, on);
    Values out(threads_);
    for (size_t t = 0; t < threads_; ++t) {
      const size_t other = t ^ static_cast<size_t>(s.distance);
      if (on[t]) out[t] = other < threads_ ? value[other] : value[t];
    }
    assign(s.var, out, on);
  }
  void statement(const CopyIn& s, const Threads& on) {
    copy(s.to, s.from, s.index, s.to, s.at, s.count, on);
  }
  void statement(const CopyOut& s, const Threads& on) {
    copy(s.to, s.from, s.index, s.from, s.at, s.count, on);
  }
  // What a thread copies ahead is read now, and written when it waits.
  void statement(const CopyAhead& s, const Threads& on) {
    const Values to = values(s.at, on), from = values(s.index, on);
    const int64_t size = size_of(buffer(s.to).dtype);
    for (size_t t = 0; t < threads_; ++t) {
      if (!on[t]) continue;
      const int64_t at = integer(to[t], s.at.type()), index = integer(from[t], s.index.type());
      if (s.count * size % 16 != 0 || at * size % 16 != 0 || index * size % 16 != 0)
        defect("%{}[{}]: {} bytes ahead aren't aligned", buffer(s.from).name, index,
               s.count * size);
      for (int64_t k = 0; k < s.count && !has_defect_; ++k) {
        Slot v{};
        load(v, s.from, index + k, t);
        ahead_[t].push_back({v, s.to, at + k});
      }
    }
  }
  void statement(const CopyWait&, const Threads& on) {
    for (size_t t = 0; t < threads_; ++t)
      if (on[t])
        for (const Ahead& a : std::exchange(ahead_[t], {})) store(a.value, a.buffer, a.at, t);
  }
  void copy(int64_t to, int64_t from, const Expr& index, int64_t own, int64_t own_at, int64_t count,
            const Threads& on) {
    const Values first = values(index, on);
    const int64_t bytes = count * size_of(buffer(own).dtype);
    for (size_t t = 0; t < threads_; ++t) {
      if (!on[t]) continue;
      const int64_t at = integer(first[t], index.type());
      if (at * size_of(buffer(own).dtype) % std::min<int64_t>(bytes, 16) != 0)
        defect("%{}[{}]: {} bytes at once aren't aligned", buffer(own == to ? from : to).name, at,
               bytes);
      for (int64_t k = 0; k < count && !has_defect_; ++k) {
        Slot v{};
        load(v, from, (own == from ? own_at : at) + k, t);
        store(v, to, (own == to ? own_at : at) + k, t);
      }
    }
  }

  const Kernel& kernel_;
  const Phase& phase_;
  const size_t first_check_;
  const std::span<void* const> buffers_;
  const std::span<const int64_t> scalars_;
  Simulation& out_;
  const size_t threads_;
  int team_;
  bool has_defect_ = false;
  std::unordered_map<const Check*, size_t> checks_;
  Shadow shadow_, shared_shadow_;
  // ---- of the block
  int64_t block_ = 0;
  std::unordered_map<int64_t, Values> variables_;
  std::unordered_map<int64_t, Own> own_;
  std::vector<int64_t> waits_;
  Threads gone_;
  struct Ahead {
    Slot value;
    int64_t buffer = 0, at = 0;
  };
  std::vector<std::vector<Ahead>> ahead_;  // by thread
};

}  // namespace

Simulation simulate(const Kernel& kernel, std::span<void* const> buffers,
                    std::span<const int64_t> scalars) {
  Simulation out;
  size_t checks = 0;
  for (const Phase& phase : kernel.phases) {
    checks += PhaseRun(kernel, phase, checks, buffers, scalars, out).run();
    if (out.fault) break;
  }
  return out;
}

}  // namespace cleave::simt
