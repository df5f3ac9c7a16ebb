#include "emit/lane_writer.h"

namespace cleave::emit {

using namespace cleave::loop;

std::vector<std::string> LaneWriter::vectors(const std::vector<Expr>& e) {
  std::vector<std::string> lines;
  auto out = LaneExprWriter(kernel_, buffers_, loop_, next_temp_).vectors(e, lines);
  text_.lines(lines);
  return out;
}

std::string LaneWriter::first(const Expr& e) {
  std::vector<std::string> lines;
  auto out = LaneExprWriter(kernel_, buffers_, loop_, next_temp_).first(e, lines);
  text_.lines(lines);
  return out;
}

void LaneWriter::open_loop(const Loop& l) {
  loop_.strides.set(l.var, 0);
  text_.open(
      fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", l.var->name(), first(l.extent)));
}

void LaneWriter::fetch(const Exprs& ahead) {
  constexpr int64_t line_bytes = 64;
  for (const Expr& e : ahead) {
    const auto buffer = static_cast<size_t>(e->buffer());
    const std::string at = first(e->args[0]);
    const int64_t step = line_bytes / size_of(kernel_.buffers[buffer].dtype);
    for (int64_t k = 0; k < loop_.lanes; k += step)
      text_.line(fmt::format("__builtin_prefetch({} + {}{});", buffers_.use(buffer), at,
                             k ? fmt::format(" + {}", k) : ""));
  }
}

void LaneWriter::set_left(const Vectors& vectors, const std::string& end, const std::string& at) {
  if (!vectors.has_tail) return;
  text_.line(fmt::format("const int64_t left = {} - {};", end, at));
  loop_.left = "left";
}

// One vector is no loop, so that compilers know how many lanes of it are left.
bool LaneWriter::is_one_vector(const Expr& extent) const {
  const int64_t* n = extent.as_const_int();
  return n && *n > 0 && *n <= loop_.lanes;
}

// Whether the loop's last vector, stored whole, writes no element of a local buffer but its own:
// behind them is none, and the memory is that of whole vectors.
bool LaneWriter::ends_in(int64_t buffer, const Expr& index) const {
  const Buffer& b = kernel_.buffers[static_cast<size_t>(buffer)];
  const int64_t* n = loop_.loop->extent.as_const_int();
  return b.access == Access::local && loop_.lanes == loop_lanes && n && *n == b.elements &&
         index->op == Op::var && index->id() == loop_.loop->var->id();
}

void LaneWriter::write(const For& f) {
  loop_ = {.lanes = f.vectors.lanes, .loop = &f.loop};
  const size_t at = text_.here();
  if (f.rows.length.defined())
    write_rows(f);
  else
    write_loop(f);
  text_.insert(at, loop_.before);
}

void LaneWriter::write_loop(const For& f) {
  if (f.kind == ForKind::parallel) loop_.strides.own_locals(kernel_);
  if (f.kind == ForKind::parallel)
    loop_.strides.set(f.loop.var, 1);
  else
    loop_.strides.set_lane(f.loop.var, loop_.lanes);
  const std::string& v = f.loop.var->name();
  const bool is_block = f.kind == ForKind::lanes &&
                        (loop_.lanes == column_lanes || !may_exceed(f.loop.extent, loop_.lanes));
  if (is_block || (f.kind != ForKind::parallel && is_one_vector(f.loop.extent))) {
    text_.open("");
    text_.line(fmt::format("const int64_t {} = 0;", v));
    set_left(f.vectors, first(f.loop.extent), v);
    fetch(f.ahead);
  } else {
    const bool parallel = f.kind == ForKind::parallel;
    const std::string begin = parallel ? "begin" : "0",
                      end = parallel ? "end" : first(f.loop.extent);
    text_.open(
        fmt::format("for (int64_t {0} = {1}; {0} < {2}; {0} += {3})", v, begin, end, loop_.lanes));
    set_left(f.vectors, end, v);
    fetch(f.ahead);
  }
  block(f.body);
  text_.close();
}

void LaneWriter::write_rows(const For& f) {
  const auto elements = f.body.begin() + static_cast<std::ptrdiff_t>(f.rows.shared);
  const std::string& p = f.loop.var->name();
  const std::string& q = std::get<Let>(f.body[0].node).var->name();
  text_.open(fmt::format("for (int64_t {0} = begin; {0} < end;)", p));
  block({f.body.begin(), elements});
  text_.line(
      fmt::format("const int64_t row_end = min_i64(end, ({} + 1) * {});", q, first(f.rows.length)));
  loop_.strides.set(f.loop.var, 1);
  text_.open(fmt::format("for (; {0} < row_end; {0} += {1})", p, loop_.lanes));
  set_left(f.vectors, "row_end", p);
  block({elements, f.body.end()});
  text_.close();
  text_.line(fmt::format("{} = row_end;", p));
  text_.close();
}

void LaneWriter::block(std::span<const Stmt> b) {
  for (const Stmt& s : b) std::visit([&](const auto& n) { stmt(n); }, s.node);
}

void LaneWriter::stmt(const For& f) {
  open_loop(f.loop);
  block(f.body);
  text_.close();
}

void LaneWriter::stmt(const Let& s) {
  const LaneStride stride = loop_.strides.of(s.value);
  const std::string value = stride ? first(s.value) : vector(s.value);
  loop_.strides.set(s.var, stride);
  text_.line(fmt::format("const {} {} = {};", stride ? c_type(s.var.type()) : type_of(s.var),
                         s.var->name(), value));
}

void LaneWriter::stmt(const Define& s) {
  const std::string value = vector(s.value);
  loop_.strides.set(s.var, std::nullopt);
  text_.line(fmt::format("{} {} = {};", type_of(s.var), s.var->name(), value));
}

void LaneWriter::stmt(const Assign& s) {
  text_.line(fmt::format("{} = {};", s.var->name(), vector(s.value)));
}

void LaneWriter::stmt(const Store& s) {
  const DType stored = kernel_.buffers[static_cast<size_t>(s.buffer)].dtype;
  const std::string base = buffers_.use(static_cast<size_t>(s.buffer));
  const std::string type = memory_lane_type(stored, loop_.lanes);
  const LaneStride stride = loop_.strides.of(s.index);
  const Expr& stores = before_rounding(s.value, stored);
  const bool whole = loop_.left.empty() || ends_in(s.buffer, s.index);
  const std::string tail = whole ? "" : "_first", left = whole ? "" : ", " + loop_.left;
  if (stride) {
    const std::string at = first(s.index);
    const std::string value = stored_lanes(stored, loop_.lanes, vector(stores));
    if (loop_.strides.is_own(s.buffer))
      return text_.line(fmt::format("put_{}({} + {}*{}, {});", type, base, loop_.lanes, at, value));
    if (*stride == 1)
      return text_.line(fmt::format("put_{}{}({} + {}, {}{});", type, tail, base, at, value, left));
    return text_.line(fmt::format("put_strided_{}{}({} + {}, {}, {}{});", type, tail, base, at,
                                  *stride, value, left));
  }
  const std::vector<std::string> e = vectors({s.index, stores});
  text_.line(fmt::format("scatter_{}{}({}, {}, {}{});", type, tail, base, e[0],
                         stored_lanes(stored, loop_.lanes, e[1]), left));
}

void LaneWriter::stmt(const If& s) {
  text_.open(fmt::format("if ({})", first(s.condition)));
  block(s.then);
  text_.close();
}

void LaneWriter::stmt(const Check& s) {
  checks_.push_back({s.message, s.from_zero});
  const size_t number = checks_.size();
  if (loop_.strides.of(s.condition) == LaneStride(0)) {
    const std::string condition = first(s.condition), value = first(s.value);
    return text_.line(fmt::format("if (!{}) {{ fault[0] = {}; fault[1] = {}; return {}; }}",
                                  condition, value, first(s.bound), number));
  }
  const std::vector<std::string> e = vectors({s.condition, s.value});
  const std::string on = loop_.left.empty() ? "" : fmt::format(" & first_i32x16({})", loop_.left);
  const std::string bad = fmt::format("bad{}", number);
  text_.line(fmt::format("const i32x16 {} = ~{}{};", bad, e[0], on));
  text_.open(fmt::format("if (any_i32x16({}))", bad));
  text_.line(fmt::format("fault[0] = ({})[first_on_i32x16({})];", e[1], bad));
  text_.line(fmt::format("fault[1] = {};", first(s.bound)));
  text_.line(fmt::format("return {};", number));
  text_.close();
}

}  // namespace cleave::emit
