#include "emit/c_source.h"

#include <cctype>
#include <set>
#include <unordered_map>

#include "emit/c_expr.h"
#include "emit/c_text.h"
#include "emit/lane_writer.h"
#include "loop/phase_extents.h"
#include "loop/sum_blocks.h"

namespace cleave::emit {

using namespace cleave::loop;

std::string c_identifier(const std::string& name) {
  std::string out;
  for (unsigned char c : name) out += std::isalnum(c) ? static_cast<char>(c) : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, "v");
  return out;
}

namespace {

class KernelWriter {
 public:
  KernelWriter(const Kernel& k, const std::string& symbol)
      : k_(k), symbol_(symbol), extents_(loop::phase_extents(k)), buffers_(k),
        vectors_(k, text_, buffers_, out_.checks, next_temp_) {
    std::set<std::string> taken = {"buffer", "scalar", "begin", "end", "fault", "stream"};
    for (const Buffer& b : k.buffers) {
      std::string stem = c_identifier(b.name) + "_", name = stem;  // '_' avoids C's keywords
      for (int n = 1; !taken.insert(name).second; ++n) name = fmt::format("{}{}", stem, n);
      buffers_.add(name);
    }
  }

  CKernel write() {
    size_t i = 0;
    while (i < k_.body.size()) {
      int lanes = 1;
      auto* loop = std::get_if<For>(&k_.body[i].node);
      if (loop && loop->kind == ForKind::parallel) {
        begin_phase();
        lanes = loop->vectors.lanes;
        if (loop->vectors.any())
          vectors_.write(*loop);
        else
          one_by_one(*loop, "begin", "end");
        ++i;
      } else {
        begin_phase();
        for (; i < k_.body.size(); ++i) {
          auto* next = std::get_if<For>(&k_.body[i].node);
          if (next && next->kind == ForKind::parallel) break;
          stmt(k_.body[i]);
        }
      }
      end_phase(lanes);
    }
    out_.scalars = k_.scalars.size();
    return std::move(out_);
  }

 private:
  void begin_phase() {
    const size_t phase = out_.phases.size();
    std::string name = fmt::format("{}_{}", symbol_, phase);
    out_.phases.push_back({name, extents_[phase]});
    out_.text += fmt::format(
        "\nint64_t {}(void *const *buffer, const int64_t *scalar, int64_t begin, int64_t end,\n"
        "            int64_t *fault) {{\n",
        name);
    buffers_.forget_uses();
  }

  // Declares only the buffers that the body uses, before it: a concatenation of hundreds of tensors
  // has as many phases, each of which uses two. An iteration of its parallel loop has local buffers
  // of its own, and so has each of the lanes in which they run.
  void end_phase(int lanes) {
    const std::string body = text_.take();
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (!buffers_.used(b)) continue;
      const Buffer& buffer = k_.buffers[b];
      if (buffer.access == Access::local) {
        line(fmt::format("{} {}[{}];", c_storage_type(buffer.dtype), buffers_.name(b),
                         (buffer.elements / reduce_lanes + 1) * reduce_lanes * lanes));
        continue;
      }
      // Two buffers may share storage (a result over a dead operand), so none is restrict.
      line(fmt::format("{}{} *{} = buffer[{}];", buffer.access == Access::read ? "const " : "",
                       c_storage_type(buffer.dtype), buffers_.name(b), b));
    }
    for (size_t s = 0; s < k_.scalars.size(); ++s)
      if (buffers_.scalar_used(s)) scalar(s);
    line("(void)buffer, (void)scalar, (void)begin, (void)end, (void)fault;");
    out_.text += text_.take() + body + "  return 0;\n}\n";
  }

  // const int64_t number0 = scalar[0];  // 256, 64
  void scalar(size_t s) {
    constexpr size_t max_values_told = 6;
    const Scalar& scalar = k_.scalars[s];
    std::string told;
    for (size_t k = 0; k < scalar.values.size() && k <= max_values_told; ++k)
      told += (k == 0 ? "  // " : ", ") +
              (k < max_values_told ? c_constant(*scalar.values[k]) : std::string("..."));
    const bool single = scalar.type == DType::f32;
    const std::string from = fmt::format("scalar[{}]", s);
    line(fmt::format("const {} {} = {};{}", c_type(scalar.type), scalar.name,
                     single ? fmt::format("bits_f32((uint32_t){})", from) : from, told));
  }

  void line(const std::string& s) { text_.line(s); }
  void open(const std::string& s) { text_.open(s); }
  void close() { text_.close(); }
  void block(const Block& b) {
    for (const Stmt& s : b) stmt(s);
  }
  void stmt(const Stmt& s) {
    std::visit([&](const auto& n) { write(n); }, s.node);
  }

  // Returns the texts of expressions; writes shared parts as lines here.
  std::vector<std::string> exprs(const std::vector<Expr>& e) {
    std::vector<std::string> shared;
    auto out = ExprWriter(k_, buffers_, lane_vars_, next_temp_).write(e, shared);
    for (const std::string& s : shared) line(s);
    return out;
  }
  std::string expr(const Expr& e) { return exprs({e})[0]; }

  // ---- statements outside a lanes loop are scalar; inside, each runs in a loop over the lanes.
  bool in_lanes() const { return !lane_bound_.empty(); }
  void open_lanes() {
    if (!in_lanes()) return;
    open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", lane_var_, lane_bound_));
  }
  void close_lanes() {
    if (in_lanes()) close();
  }
  // The left side that defines or assigns a variable of the current scope.
  std::string define(const Expr& var, bool constant) {
    if (!in_lanes())
      return fmt::format("{}{} {}", constant ? "const " : "", c_type(var.type()), var->name());
    line(fmt::format("{} {}[{}];", c_type(var.type()), var->name(), column_lanes));
    lane_vars_[var->id()] = lane_var_;
    return fmt::format("{}[{}]", var->name(), lane_var_);
  }
  std::string target(const Expr& var) const {
    auto lane = lane_vars_.find(var->id());
    return lane == lane_vars_.end() ? var->name()
                                    : fmt::format("{}[{}]", var->name(), lane->second);
  }

  void write(const Let& s) { write_definition(s.var, s.value, true); }
  void write(const Define& s) { write_definition(s.var, s.value, false); }
  void write_definition(const Expr& var, const Expr& value, bool constant) {
    if (!in_lanes()) {
      std::string v = expr(value);
      return line(fmt::format("{} = {};", define(var, constant), v));
    }
    std::string left = define(var, constant);
    open_lanes();
    line(fmt::format("{} = {};", left, expr(value)));
    close_lanes();
  }
  void write(const Assign& s) {
    open_lanes();
    line(fmt::format("{} = {};", target(s.var), expr(s.value)));
    close_lanes();
  }
  void write(const Store& s) {
    open_lanes();
    const DType stored = k_.buffers[s.buffer].dtype;
    auto e = exprs({s.index, before_rounding(s.value, stored)});
    line(fmt::format("{}[{}] = {};", buffers_.use(s.buffer), e[0], c_stored(stored, e[1])));
    close_lanes();
  }
  void write(const If& s) {
    open_lanes();
    open(fmt::format("if ({})", expr(s.condition)));
    std::string bound = std::exchange(lane_bound_, "");  // one lane at a time inside
    block(s.then);
    lane_bound_ = bound;
    close();
    close_lanes();
  }
  void write(const Check& s) {
    out_.checks.push_back({s.message, s.from_zero});
    open_lanes();
    auto e = exprs({s.condition, s.value, s.bound});
    line(fmt::format("if (!{}) {{ fault[0] = {}; fault[1] = {}; return {}; }}", e[0], e[1], e[2],
                     out_.checks.size()));
    close_lanes();
  }
  void one_by_one(const For& f, const std::string& begin, const std::string& end) {
    const std::string& v = f.loop.var->name();
    open(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", v, begin, end));
    if (f.next.defined())
      line(fmt::format("const int64_t {} = min_i64({} + 1, {} - 1);", f.next->name(), v, end));
    block(f.body);
    close();
  }
  void write(const For& f) {
    if (f.vectors.any()) return vectors_.write(f);
    const std::string extent = expr(f.loop.extent);
    if (f.kind != ForKind::lanes) return one_by_one(f, "0", extent);
    // The full block with a constant count, which vectorizes completely, and the remainder.
    lane_var_ = f.loop.var->name();
    open("");
    line(fmt::format("const int64_t count = {};", extent));
    for (const char* bound : {"", "count"}) {
      lane_bound_ = *bound ? bound : std::to_string(column_lanes);
      open(*bound ? "else" : fmt::format("if (count == {})", column_lanes));
      block(f.body);
      close();
    }
    lane_bound_.clear();
    lane_vars_.clear();
    close();
  }

  static std::string combine(const Fold& f, const std::string& a, const std::string& b) {
    const DType t = f.var.type();
    switch (f.op) {
      case ReduceOp::sum: return fmt::format("{} + {}", a, b);
      case ReduceOp::prod: return fmt::format("{} * {}", a, b);
      case ReduceOp::any: return fmt::format("{} | {}", a, b);
      case ReduceOp::all: return fmt::format("{} & {}", a, b);
      case ReduceOp::max:
      case ReduceOp::min: {
        const bool max = f.op == ReduceOp::max;
        if (t == DType::boolean) return fmt::format("{} {} {}", a, max ? "|" : "&", b);
        return fmt::format("{}_{}({}, {})", max ? "max" : "min", name_of(t), a, b);
      }
    }
    return a;
  }

  // An accumulator is one variable, 16 variables (one per lane), or one per column.
  enum class Width { one, lanes, columns };
  std::string at(Width w) const {
    return w == Width::one ? "" : fmt::format("[{}]", w == Width::lanes ? "l" : lane_var_);
  }
  // Writes the statement; with several accumulators, once for each `l` or column.
  void each(Width w, const std::string& statement) {
    if (w == Width::lanes)
      return line(fmt::format("for (int l = 0; l < {}; ++l) {}", reduce_lanes, statement));
    open_lanes();
    line(statement);
    close_lanes();
  }
  void define_sum(Width w, const Fold& f, DType type, const std::string& suffix) {
    const std::string name = f.var->name() + suffix, identity = expr(identity_of(f.op, type));
    if (w == Width::one) return line(fmt::format("{} {} = {};", c_type(type), name, identity));
    line(fmt::format("{} {}[{}];", c_type(type), name,
                     w == Width::lanes ? reduce_lanes : column_lanes));
    each(w, fmt::format("{}{} = {};", name, at(w), identity));
  }

  void element(const Reduce& r, const std::string& suffix) {
    for (const Stmt& s : r.body) stmt(s);
    std::vector<Expr> values;
    for (const Fold& f : r.folds) values.push_back(f.value);
    const std::vector<std::string> text = exprs(values);
    for (size_t k = 0; k < r.folds.size(); ++k) {
      const std::string sum = r.folds[k].var->name() + suffix;
      line(fmt::format("{} = {};", sum, combine(r.folds[k], sum, text[k])));
    }
  }
  // The innermost loop's iterations from `begin` to `end`.
  void elements(Width w, const Reduce& r, const std::string& begin, const std::string& end,
                const std::string& suffix) {
    const std::string& j = r.loops.back().var->name();
    if (w == Width::lanes) {
      open("");
      line(fmt::format("int64_t at = {};", begin));
      open(fmt::format("for (; at + {0} <= {1}; at += {0})", reduce_lanes, end));
      open(fmt::format("for (int l = 0; l < {}; ++l)", reduce_lanes));
      line(fmt::format("const int64_t {} = at + l;", j));
      element(r, suffix);
      close();
      close();
      open(fmt::format("for (int l = 0; at + l < {}; ++l)", end));
      line(fmt::format("const int64_t {} = at + l;", j));
      element(r, suffix);
      close();
      return close();
    }
    open(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", j, begin, end));
    open_lanes();
    std::string bound = std::exchange(lane_bound_, "");
    element(r, suffix);
    lane_bound_ = bound;
    close_lanes();
    close();
  }

  void write(const Reduce& r) {
    if (r.vectors.any()) return vectors_.write(r);
    const Width w = in_lanes() ? Width::columns : r.ordered ? Width::one : Width::lanes;
    const std::optional<SumBlocks>& blocks = r.blocks;
    const std::string suffix = w == Width::lanes ? "_lane" : blocks ? "_block" : "";
    const auto has_total = [&](const Fold& f) { return blocks && rounds(f.op, f.var.type()); };
    for (const Fold& f : r.folds)
      if (has_total(f))
        define_sum(w, f, DType::f64, "_total");
      else
        define_sum(w, f, f.var.type(), suffix);
    for (size_t d = 0; d < r.loops.size(); ++d) {
      const std::string &v = r.loops[d].var->name(), n = expr(r.loops[d].extent);
      std::string begin = "0", end = n;
      if (blocks && blocks->loop == d) {
        begin = v + "_block", end = v + "_end";
        open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", begin, n,
                         blocks->iterations));
        line(fmt::format("const int64_t {} = min_i64({}, {} + {});", end, n, begin,
                         blocks->iterations));
        for (const Fold& f : r.folds)
          if (has_total(f)) define_sum(w, f, f.var.type(), suffix);
      }
      if (d + 1 == r.loops.size())
        elements(w, r, begin, end, suffix + at(w));
      else
        open(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", v, begin, end));
    }
    for (size_t d = r.loops.size(); d-- > 0;) {
      if (d + 1 < r.loops.size()) close();
      if (!blocks || blocks->loop != d) continue;
      for (const Fold& f : r.folds) {
        const std::string total = f.var->name() + "_total" + at(w),
                          block = f.var->name() + suffix + at(w);
        if (has_total(f)) each(w, fmt::format("{} = {};", total, combine(f, total, block)));
      }
      close();
    }
    for (const Fold& f : r.folds)
      finish_sum(w, f, f.var->name() + (has_total(f) ? "_total" : suffix));
  }

  // Sets the fold's variable from its accumulator.
  void finish_sum(Width w, const Fold& f, const std::string& sum) {
    const std::string_view type = c_type(f.var.type());
    const std::string& v = f.var->name();
    if (w == Width::lanes) {
      line(fmt::format("for (int w = {}; w; w >>= 1)", reduce_lanes / 2));
      line(fmt::format("  for (int l = 0; l < w; ++l) {}[l] = {};", sum,
                       combine(f, sum + "[l]", sum + "[l + w]")));
      line(fmt::format("const {0} {1} = ({0}){2}[0];", type, v, sum));
    } else if (w == Width::one) {
      if (sum != v) line(fmt::format("const {0} {1} = ({0}){2};", type, v, sum));
    } else if (sum == v) {
      lane_vars_[f.var->id()] = lane_var_;
    } else {
      each(w, fmt::format("{} = ({}){}{};", define(f.var, true), type, sum, at(w)));
    }
  }

  const Kernel& k_;
  std::string symbol_;
  std::vector<int64_t> extents_;
  BufferNames buffers_;
  std::unordered_map<int64_t, std::string> lane_vars_;
  std::string lane_var_, lane_bound_;
  int next_temp_ = 0;
  CText text_;  // of the open phase
  CKernel out_;
  LaneWriter vectors_;
};

}  // namespace

CKernel emit_c(const Kernel& kernel, const std::string& symbol) {
  if (!kernel.is_scheduled) throw_bug("emit: {} is not scheduled", kernel.name);
  return KernelWriter(kernel, symbol).write();
}

}  // namespace cleave::emit
