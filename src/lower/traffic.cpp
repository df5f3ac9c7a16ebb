#include "lower/traffic.h"

#include <algorithm>
#include <set>

namespace cleave {

using namespace cleave::loop;

namespace {

constexpr int64_t most = int64_t{1} << 60;

int64_t times(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? most : std::min(out, most);
}

class Counter {
 public:
  explicit Counter(const Kernel& k) : k_(k), read_(k.buffers.size()), written_(k.buffers.size()) {}

  void run() { block(k_.body, 1); }
  int64_t read(size_t b) const { return bytes(b, read_[b]); }
  int64_t written(size_t b) const { return bytes(b, written_[b]); }

 private:
  int64_t bytes(size_t b, int64_t accesses) const {
    const Buffer& buffer = k_.buffers[b];
    if (buffer.access == Access::local) return 0;
    return std::min(accesses, buffer.elements) * size_of(buffer.dtype);
  }
  // A computed extent counts at most what `min` bounds it by.
  static int64_t extent_of(const Expr& e) {
    if (const int64_t* n = e.as_const_int()) return *n;
    int64_t bound = most;
    if (e->op == Op::min || e->op == Op::max)
      for (const Expr& a : e->args) {
        const int64_t n = extent_of(a);
        bound = e->op == Op::min || n != 0 ? std::min(bound, n) : bound;
      }
    return bound;
  }
  // An expression that several values share is computed once in its statement.
  void expr(const Expr& e, int64_t n, std::set<const ExprNode*>& seen) {
    if (!seen.insert(&*e).second) return;
    if (e->op == Op::load)
      read_[static_cast<size_t>(e->i)] = std::min(read_[static_cast<size_t>(e->i)] + n, most);
    for (const Expr& a : e->args) expr(a, n, seen);
  }
  void expr(const Expr& e, int64_t n) {
    std::set<const ExprNode*> seen;
    expr(e, n, seen);
  }
  void block(const Block& b, int64_t n) {
    for (const Stmt& s : b) std::visit([&](const auto& x) { stmt(x, n); }, s.node);
  }
  void stmt(const For& f, int64_t n) {
    expr(f.loop.extent, n);
    block(f.body, times(n, extent_of(f.loop.extent)));
  }
  void stmt(const Let& s, int64_t n) { expr(s.value, n); }
  void stmt(const Define& s, int64_t n) { expr(s.value, n); }
  void stmt(const Assign& s, int64_t n) { expr(s.value, n); }
  void stmt(const Reduce& r, int64_t n) {
    for (const Loop& l : r.loops) n = times(n, extent_of(l.extent));
    block(r.body, n);
    std::set<const ExprNode*> seen;
    for (const Fold& f : r.folds) expr(f.value, n, seen);
  }
  void stmt(const Store& s, int64_t n) {
    expr(s.index, n);
    expr(s.value, n);
    auto& w = written_[static_cast<size_t>(s.buffer)];
    w = std::min(w + n, most);
  }
  void stmt(const If& s, int64_t n) {
    expr(s.condition, n);
    block(s.then, n);
  }
  void stmt(const Check& s, int64_t n) {
    expr(s.condition, n);
    expr(s.value, n);
  }

  const Kernel& k_;
  std::vector<int64_t> read_, written_;
};

KernelTraffic of(const LoweredProgram& p, const KernelCall& call) {
  const Kernel& k = p.kernels[call.kernel];
  Counter counter(k);
  counter.run();
  KernelTraffic out{{}, "kernel"};
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    out.read += counter.read(b);
    out.written += counter.written(b);
  }
  return out;
}

KernelTraffic of(const LoweredProgram& p, const ProductCall& call) {
  std::set<size_t> operands = {call.a.storage, call.b.storage};
  if (call.c_in) operands.insert(call.c_in->storage);
  KernelTraffic out{{}, "product"};
  for (const size_t s : operands) out.read += p.storages[s].bytes;
  out.written = p.storages[call.c].bytes;
  return out;
}

KernelTraffic of(const LoweredProgram& p, const ForeignCall& call) {
  std::set<size_t> operands;
  for (const auto& s : call.operands)
    if (s) operands.insert(*s);
  KernelTraffic out{{}, "foreign"};
  for (const size_t s : operands) out.read += p.storages[s].bytes;
  for (const size_t s : call.results) out.written += p.storages[s].bytes;
  return out;
}

KernelTraffic of(const LoweredProgram& p, const AttentionCall& call) {
  std::set<size_t> read, written;
  for (size_t k = 0; k < call.parts.size(); ++k)
    if (call.parts[k])
      (call.writes(static_cast<AttentionPart>(k)) ? written : read).insert(call.parts[k]->storage);
  KernelTraffic out{{}, "attention"};
  for (const size_t s : read) out.read += p.storages[s].bytes;
  for (const size_t s : written) out.written += p.storages[s].bytes;
  return out;
}

KernelTraffic of(const LoweredProgram& p, const ConvolutionCall& call) {
  std::set<size_t> operands = {call.image.storage, call.other.storage};
  if (call.bias) operands.insert(call.bias->storage);
  KernelTraffic out{{}, "convolution"};
  for (const size_t s : operands) out.read += p.storages[s].bytes;
  out.written = p.storages[call.out].bytes;
  return out;
}

KernelTraffic of(const LoweredProgram&, const JumpCall&) { return {}; }

}  // namespace

KernelTraffic traffic_of(const LoweredProgram& program, const Step& step) {
  KernelTraffic out = std::visit([&](const auto& call) { return of(program, call); }, step.work);
  out.name = step.name;
  return out;
}

std::vector<KernelTraffic> traffic_of(const LoweredProgram& program) {
  std::vector<KernelTraffic> out;
  for (const Step& step : program.steps) {
    KernelTraffic t = traffic_of(program, step);
    if (t.read + t.written > 0) out.push_back(std::move(t));
  }
  return out;
}

int64_t total_bytes(const std::vector<KernelTraffic>& kernels) {
  int64_t out = 0;
  for (const KernelTraffic& k : kernels) out += k.read + k.written;
  return out;
}

}  // namespace cleave
