#include "simt/cuda_text.h"

#include <algorithm>
#include <set>

#include "emit/c_expr.h"
#include "emit/c_source.h"
#include "emit/c_text.h"
#include "loop/replace.h"

namespace cleave::simt {
namespace {

constexpr int64_t static_shared_bytes = 48 << 10;  // more is asked for at the start

class TextWriter {
 public:
  TextWriter(const Kernel& k, const std::string& symbol, bool obeys_faults)
      : k_(k), symbol_(symbol), obeys_faults_(obeys_faults), names_(declared(k)) {
    std::set<std::string> taken = {"kernel", "fault"};
    for (const Buffer& b : k.buffers) {
      const std::string stem = emit::c_identifier(b.name) + "_";
      std::string name = stem;
      for (int n = 1; !taken.insert(name).second; ++n) name = fmt::format("{}{}", stem, n);
      names_.add(name);
    }
  }

  CudaKernel write() {
    for (const Phase& phase : k_.phases) write(phase);
    return std::move(out_);
  }

 private:
  // What ExprWriter reads of a kernel.
  loop::Kernel& declared(const Kernel& k) {
    for (const Buffer& b : k.buffers) declared_.buffers.push_back(b);
    declared_.scalars = k.scalars;
    return declared_;
  }

  void write(const Phase& phase) {
    names_.forget_uses();
    next_temp_ = 0;
    const std::string symbol = fmt::format("{}_{}", symbol_, out_.phases.size());
    const size_t checks = out_.checks.size();
    block(phase.body);
    const std::string body = text_.take();
    Launch launch{.blocks = phase.blocks, .threads = phase.threads};
    std::string arguments;
    int64_t shared = 0;
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (!names_.used(b)) continue;
      const Buffer& buffer = k_.buffers[b];
      const std::string_view type = emit::c_storage_type(buffer.dtype);
      if (buffer.space == Space::global) {
        launch.buffers.push_back(static_cast<uint32_t>(b));
        if (buffer.access != loop::Access::read) launch.written.push_back(static_cast<uint32_t>(b));
        arguments +=
            fmt::format("{}{} *{}{}, ", buffer.access == loop::Access::read ? "const " : "", type,
                        buffer.is_alone ? "__restrict__ " : "", names_.name(b));
      } else if (buffer.space == Space::shared) {
        shared += aligned(buffer);
      }
    }
    const bool is_dynamic = shared > static_shared_bytes;
    if (is_dynamic) line("extern __shared__ uint4 shared[];");
    int64_t at = 0;
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      const Buffer& buffer = k_.buffers[b];
      if (!names_.used(b) || buffer.space == Space::global) continue;
      const std::string_view type = emit::c_storage_type(buffer.dtype);
      const int64_t elements = std::max<int64_t>(buffer.elements, 1);
      if (buffer.space == Space::thread) {
        line(fmt::format("alignas(16) {} {}[{}];", type, names_.name(b), elements));
      } else if (!is_dynamic) {
        line(fmt::format("__shared__ alignas(16) {} {}[{}];", type, names_.name(b), elements));
      } else {
        line(fmt::format("{0} *const {1} = ({0} *)(shared + {2});", type, names_.name(b), at / 16));
        at += aligned(buffer);
      }
    }
    launch.shared_bytes = is_dynamic ? static_cast<int32_t>(at) : 0;
    for (size_t s = 0; s < k_.scalars.size(); ++s) {
      if (!names_.scalar_used(s)) continue;
      launch.scalars.push_back(static_cast<uint32_t>(s));
      const loop::Scalar& scalar = k_.scalars[s];
      const bool is_float = scalar.type == DType::f32;
      arguments += fmt::format("int64_t {}{}, ", scalar.name, is_float ? "_bits" : "");
      if (is_float)
        line(fmt::format("const float {0} = bits_f32((uint32_t){0}_bits);", scalar.name));
    }
    // Of threads that wait for each other none goes on alone.
    if (obeys_faults_ || out_.checks.size() > checks)
      line(waits(phase.body) ? "if (__syncthreads_or(*fault != 0)) return;"
                             : "if (*fault) return;");
    line(fmt::format("const {0} {1} = blockIdx.x, {2} = threadIdx.x;",
                     emit::c_type(phase.block.type()), phase.block->name(), phase.thread->name()));
    out_.text += fmt::format(
        "\nextern \"C\" __global__ void __launch_bounds__({}{})\n{}({}int64_t kernel, int64_t "
        "*fault) "
        "{{\n{}{}}}\n",
        phase.threads, phase.at_once > 1 ? fmt::format(", {}", phase.at_once) : "", symbol,
        arguments, text_.take(), body);
    out_.phases.push_back({symbol, phase.blocks, std::move(launch)});
  }
  static bool waits(const Block& b) {
    return std::ranges::any_of(b, [](const Stmt& s) {
      if (auto* f = std::get_if<For>(&s.node)) return waits(f->body);
      if (auto* i = std::get_if<If>(&s.node)) return waits(i->then) || waits(i->otherwise);
      return std::holds_alternative<Barrier>(s.node) || std::holds_alternative<Exchange>(s.node);
    });
  }
  static int64_t aligned(const Buffer& b) {
    return (std::max<int64_t>(b.elements, 1) * size_of(b.dtype) + 15) / 16 * 16;
  }

  void line(const std::string& s) { text_.line(s); }
  void open(const std::string& s) { text_.open(s); }
  void close() { text_.close(); }
  void block(const Block& b) {
    for (const Stmt& s : b) std::visit([&](const auto& n) { statement(n); }, s.node);
  }
  std::vector<std::string> exprs(const std::vector<Expr>& e) {
    std::vector<std::string> shared;
    auto out = emit::ExprWriter(declared_, names_, no_lanes_, next_temp_).write(e, shared);
    for (const std::string& s : shared) line(s);
    return out;
  }
  std::string expr(const Expr& e) { return exprs({e})[0]; }

  void statement(const Let& s) {
    const std::string value = expr(s.value);
    line(fmt::format("const {} {} = {};", emit::c_type(s.var.type()), s.var->name(), value));
  }
  void statement(const Define& s) {
    const std::string value = expr(s.value);
    line(fmt::format("{} {} = {};", emit::c_type(s.var.type()), s.var->name(), value));
  }
  void statement(const Assign& s) {
    const std::string value = expr(s.value);
    line(fmt::format("{} = {};", s.var->name(), value));
  }
  void statement(const Store& s) {
    const DType stored = k_.buffers[static_cast<size_t>(s.buffer)].dtype;
    const auto e = exprs({s.index, emit::before_rounding(s.value, stored)});
    line(fmt::format("{}[{}] = {};", names_.use(static_cast<size_t>(s.buffer)), e[0],
                     emit::c_stored(stored, e[1])));
  }
  void statement(const For& f) {
    const auto e = exprs({f.begin, f.end});
    const std::string& v = f.var->name();
    if (f.unrolled == 0) line("#pragma unroll");
    if (f.unrolled > 1) line(fmt::format("#pragma unroll {}", f.unrolled));
    open(fmt::format("for ({} {} = {}; {} < {}; {})", emit::c_type(f.var.type()), v, e[0], v, e[1],
                     f.step == 1 ? "++" + v : fmt::format("{} += {}", v, f.step)));
    block(f.body);
    close();
  }
  void statement(const If& s) {
    open(fmt::format("if ({})", expr(s.condition)));
    block(s.then);
    close();
    if (s.otherwise.empty()) return;
    open("else");
    block(s.otherwise);
    close();
  }
  void statement(const Check& s) {
    out_.checks.push_back({s.message, s.from_zero});
    const auto e = exprs({s.condition, s.value, s.bound});
    line(fmt::format("if (!{}) {{ fail(fault, kernel, {}, {}, {}); return; }}", e[0],
                     out_.checks.size(), e[1], e[2]));
  }
  void statement(const Barrier& s) {
    line(s.width > warp_lanes ? "__syncthreads();"
                              : fmt::format("__syncwarp(team_mask({}));", s.width));
  }
  void statement(const Exchange& s) {
    const std::string value = expr(s.value);
    line(fmt::format("const {} {} = __shfl_xor_sync(team_mask({}), {}, {}, {});",
                     emit::c_type(s.var.type()), s.var->name(), s.width, value, s.distance,
                     s.width));
  }
  void statement(const CopyIn& s) { copy(s.to, s.from, s.index, s.at, s.count, true); }
  void statement(const CopyOut& s) { copy(s.from, s.to, s.index, s.at, s.count, false); }
  void statement(const CopyAhead& s) {
    const auto e = exprs({s.at, s.index});
    line(fmt::format("copy_ahead<{}>(&{}[{}], &{}[{}]);",
                     s.count * size_of(k_.buffers[static_cast<size_t>(s.to)].dtype),
                     names_.use(static_cast<size_t>(s.to)), e[0],
                     names_.use(static_cast<size_t>(s.from)), e[1]));
  }
  void statement(const CopyWait&) { line("wait_for_copies();"); }
  void copy(int64_t own, int64_t other, const Expr& index, int64_t at, int64_t count, bool is_in) {
    const Buffer& b = k_.buffers[static_cast<size_t>(own)];
    std::string mine = names_.use(static_cast<size_t>(own));
    if (at > 0) mine += fmt::format(" + {}", at);
    const std::string theirs =
        fmt::format("&{}[{}]", names_.use(static_cast<size_t>(other)), expr(index));
    line(fmt::format("copy_bytes<{}>({}, {});", count * size_of(b.dtype), is_in ? mine : theirs,
                     is_in ? theirs : mine));
  }

  const Kernel& k_;
  const std::string symbol_;
  const bool obeys_faults_;
  loop::Kernel declared_;
  emit::BufferNames names_;
  const std::unordered_map<int64_t, std::string> no_lanes_;
  int next_temp_ = 0;
  emit::CText text_;
  CudaKernel out_;
};

}  // namespace

CudaKernel cuda_text(const Kernel& kernel, const std::string& symbol, bool obeys_faults) {
  return TextWriter(kernel, symbol, obeys_faults).write();
}

}  // namespace cleave::simt
