#include "lower/traffic.h"

#include <algorithm>
#include <map>
#include <set>

#include "loop/replace.h"
#include "run/thunk_storages.h"

namespace cleave {

using namespace cleave::loop;

namespace {

constexpr int64_t most = int64_t{1} << 60;
// Variables for places have numbers behind those of kernels.
constexpr int64_t place_variables = int64_t{1} << 40;

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
  // A computed extent counts as much as its `min` allows at most.
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
  // What another pass over a row reads again is one access.
  void load(const Expr& e, int64_t n) {
    int64_t& known = accesses_[{e->buffer(), replaced(e->args[0], places_)}];
    const int64_t more = std::max<int64_t>(n - known, 0);
    known += more;
    read_[e->buffer()] = std::min(read_[e->buffer()] + more, most);
  }
  // The same variable for all loops with this extent at one depth.
  void enter(const Loop& l) {
    const auto [at, is_new] = depths_.try_emplace({depth_++, l.extent});
    if (is_new) at->second = make_var(place_variables + std::ssize(depths_), "place", DType::i64);
    places_.insert_or_assign(l.var->id(), at->second);
  }
  // A shared subexpression is computed once per statement.
  void expr(const Expr& e, int64_t n, std::set<const ExprNode*>& seen) {
    if (!seen.insert(&*e).second) return;
    if (e->op == Op::load) load(e, n);
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
    enter(f.loop);
    block(f.body, times(n, extent_of(f.loop.extent)));
    --depth_;
  }
  void stmt(const Let& s, int64_t n) { expr(s.value, n); }
  void stmt(const Define& s, int64_t n) { expr(s.value, n); }
  void stmt(const Assign& s, int64_t n) { expr(s.value, n); }
  void stmt(const Reduce& r, int64_t n) {
    for (const Loop& l : r.loops) {
      n = times(n, extent_of(l.extent));
      enter(l);
    }
    block(r.body, n);
    std::set<const ExprNode*> seen;
    for (const Fold& f : r.folds) expr(f.value, n, seen);
    depth_ -= std::ssize(r.loops);
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
  std::map<std::pair<size_t, Expr>, int64_t> accesses_;  // iterations, by buffer and index
  std::map<std::pair<int64_t, Expr>, Expr> depths_;      // variables by depth and extent
  VariableValues places_;                                // of the loops' variables
  int64_t depth_ = 0;
};

void count_kernel(const LoweredProgram& p, const KernelCall& call, KernelTraffic& out) {
  const Kernel& k = p.kernels[call.kernel];
  Counter counter(k);
  counter.run();
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    out.read += counter.read(b);
    out.written += counter.written(b);
  }
}

// Each distinct operand counts once; one of which only the shape matters, not at all. A result may
// be part of a larger storage.
void count_call(const LoweredProgram& p, const LibraryCall& call, KernelTraffic& out) {
  std::set<size_t> read;
  for (const LibraryCall::Operand& o : call.operands) {
    if (o.access == LibraryAccess::read) read.insert(o.storage);
    if (o.access == LibraryAccess::write) out.written += o.layout.numel() * size_of(o.dtype);
  }
  for (const size_t s : read) out.read += p.storages[s].bytes;
}

void count_call(const LoweredProgram& p, const ForeignCall& call, KernelTraffic& out) {
  std::set<size_t> read;
  for (const std::optional<size_t>& s : call.operands)
    if (s) read.insert(*s);
  for (const size_t s : read) out.read += p.storages[s].bytes;
  for (const size_t s : call.results) out.written += p.storages[s].bytes;
}

}  // namespace

KernelTraffic traffic_of(const LoweredProgram& program, const Thunk& thunk) {
  KernelTraffic out{.name = thunk.name, .kind = kind_of(thunk)};
  if (auto* k = std::get_if<KernelCall>(&thunk.work)) {
    count_kernel(program, *k, out);
  } else if (auto* l = std::get_if<LibraryCall>(&thunk.work)) {
    out.flops = flops_of(l->spec);
    count_call(program, *l, out);
  } else if (auto* f = std::get_if<ForeignCall>(&thunk.work)) {
    count_call(program, *f, out);
  } else if (auto* t = std::get_if<TransferCall>(&thunk.work)) {
    const int64_t bytes = program.storages[t->storage].bytes;
    if (t->step == TransferCall::Step::begin_out) out.read = bytes;
    if (t->step == TransferCall::Step::begin_in) out.written = bytes;
  }
  return out;
}

std::vector<KernelTraffic> traffic_of(const LoweredProgram& program) {
  std::vector<KernelTraffic> out;
  for (const Thunk& thunk : program.thunks) {
    KernelTraffic t = traffic_of(program, thunk);
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
