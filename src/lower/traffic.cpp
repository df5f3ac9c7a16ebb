#include "lower/traffic.h"

#include <algorithm>
#include <set>

#include "lower/step_uses.h"

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

int64_t count(const std::array<int64_t, 3>& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// A multiplication and an addition are two. Of attention, what its products cost: two of them
// forward, five backward (the scores once more); half of each where it is causal.
int64_t flops_of(const Step& step) {
  if (auto* p = std::get_if<ProductCall>(&step.work)) return 2 * p->batch * p->m * p->n * p->k;
  if (auto* a = std::get_if<AttentionCall>(&step.work)) {
    const int64_t widths =
        a->form.is_backward ? 3 * a->width + 2 * a->value_width : a->width + a->value_width;
    const int64_t all = 2 * a->batch * a->heads * a->rows * a->columns * widths;
    return a->form.is_causal ? all / 2 : all;
  }
  if (auto* c = std::get_if<ConvolutionCall>(&step.work)) {
    const loop::ConvolutionForm& f = c->form;
    return 2 * f.images * f.small_channels * (f.large_channels / f.groups) * count(f.small) *
           count(f.kernel);
  }
  return 0;
}

void count_kernel(const LoweredProgram& p, const KernelCall& call, KernelTraffic& out) {
  const Kernel& k = p.kernels[call.kernel];
  Counter counter(k);
  counter.run();
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    out.read += counter.read(b);
    out.written += counter.written(b);
  }
}

int64_t elements_of(const AttentionCall& call, AttentionPart part) {
  using Part = AttentionPart;
  const int64_t queries = call.batch * call.heads * call.rows;
  const int64_t keys = call.batch * call.heads * call.columns;
  switch (part) {
    case Part::out: return queries * call.value_width;
    case Part::logsumexp: return queries;
    case Part::dquery: return queries * call.width;
    case Part::dkey: return keys / call.form.key_group * call.width;
    case Part::dvalue: return keys / call.form.value_group * call.value_width;
    default: return 0;
  }
}

int64_t elements_of_result(const loop::ConvolutionForm& f) {
  using Product = loop::ConvolutionForm::Product;
  switch (f.product) {
    case Product::to_small: return f.images * f.small_channels * count(f.small);
    case Product::to_large: return f.images * f.large_channels * count(f.large);
    default: return f.small_channels * (f.large_channels / f.groups) * count(f.kernel);
  }
}

// A result may be a part of a larger storage.
int64_t written_bytes(const LoweredProgram& p, const Step& step) {
  int64_t bytes = 0;
  if (auto* c = std::get_if<ProductCall>(&step.work))
    bytes = c->batch * c->m * c->n * size_of(c->dtype);
  if (auto* c = std::get_if<ConvolutionCall>(&step.work))
    bytes = elements_of_result(c->form) * size_of(c->dtype);
  if (auto* c = std::get_if<ForeignCall>(&step.work))
    for (const size_t s : c->results) bytes += p.storages[s].bytes;
  if (auto* c = std::get_if<AttentionCall>(&step.work))
    for (size_t k = 0; k < c->parts.size(); ++k)
      if (const auto part = static_cast<AttentionPart>(k); c->parts[k] && c->writes(part))
        bytes += elements_of(*c, part) * size_of(c->parts[k]->dtype);
  return bytes;
}

// Each distinct operand once; what is there for its sizes alone, not at all.
void count_call(const LoweredProgram& p, const Step& step, KernelTraffic& out) {
  const auto* convolution = std::get_if<ConvolutionCall>(&step.work);
  std::set<size_t> read;
  for (const auto& [storage, is_written] : uses_of(p, step))
    if (!is_written && !(convolution && convolution->like == storage)) read.insert(storage);
  for (const size_t s : read) out.read += p.storages[s].bytes;
  out.written = written_bytes(p, step);
}

}  // namespace

KernelTraffic traffic_of(const LoweredProgram& program, const Step& step) {
  constexpr const char* kinds[] = {"kernel", "product",   "foreign",
                                   "jump",   "attention", "convolution"};
  KernelTraffic out{.name = step.name, .kind = kinds[step.work.index()], .flops = flops_of(step)};
  if (auto* k = std::get_if<KernelCall>(&step.work))
    count_kernel(program, *k, out);
  else if (!std::holds_alternative<JumpCall>(step.work))
    count_call(program, step, out);
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
