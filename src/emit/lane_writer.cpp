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
  text_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", l.var->var, first(l.extent)));
}

void LaneWriter::fetch(const void* loop) {
  const auto it = ahead_.find(loop);
  if (it == ahead_.end()) return;
  constexpr int64_t line_bytes = 64;
  for (const Expr& e : it->second) {
    const auto buffer = static_cast<size_t>(e->i);
    const std::string at = first(e->args[0]);
    const int64_t step = line_bytes / size_of(kernel_.buffers[buffer].dtype);
    for (int64_t k = 0; k < loop_.lanes; k += step)
      text_.line(fmt::format("__builtin_prefetch({} + {}{});", buffers_.use(buffer), at,
                             k ? fmt::format(" + {}", k) : ""));
  }
}

void LaneWriter::set_left(const Expr& count, const std::string& text, const std::string& at) {
  const int64_t* n = count.defined() ? count.as_const_int() : nullptr;
  if (n && *n % loop_.lanes == 0) return;
  text_.line(fmt::format("const int64_t left = {} - {};", text, at));
  loop_.left = "left";
}

bool LaneWriter::write(const For& f) {
  if (f.kind == ForKind::parallel) {
    if (auto rows = rows_of(f); rows && runs_in_lanes(kernel_, f.loop.var, rows->elements)) {
      loop_ = {};
      const size_t at = text_.here();
      write_rows(f, *rows);
      text_.insert(at, loop_.before);
      return true;
    }
  }
  if (!runs_in_lanes(kernel_, f)) return false;
  loop_ = {.lanes = f.kind == ForKind::lanes ? column_lanes : loop_lanes};
  loop_.strides.set(f.loop.var, 1);
  const std::string& v = f.loop.var->var;
  const size_t at = text_.here();
  if (f.kind == ForKind::parallel) {
    text_.open(fmt::format("for (int64_t {0} = begin; {0} < end; {0} += {1})", v, loop_lanes));
    set_left({}, "end", v);
  } else if (f.kind == ForKind::lanes) {
    text_.open("");
    text_.line(fmt::format("const int64_t {} = 0;", v));
    set_left(f.loop.extent, first(f.loop.extent), v);
  } else {
    const std::string extent = first(f.loop.extent);
    text_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", v, extent, loop_lanes));
    set_left(f.loop.extent, extent, v);
    fetch(&f);
  }
  block(f.body);
  text_.close();
  text_.insert(at, loop_.before);
  return true;
}

void LaneWriter::write_rows(const For& f, const Rows& rows) {
  const std::string& p = f.loop.var->var;
  const std::string& q = std::get<Let>(rows.row[0].node).var->var;
  text_.open(fmt::format("for (int64_t {0} = begin; {0} < end;)", p));
  block(rows.row);
  text_.line(fmt::format("const int64_t row_end = min_i64(end, ({} + 1) * {});", q, rows.length));
  loop_.strides.set(f.loop.var, 1);
  text_.open(fmt::format("for (; {0} < row_end; {0} += {1})", p, loop_lanes));
  set_left({}, "row_end", p);
  block(rows.elements);
  text_.close();
  text_.line(fmt::format("{} = row_end;", p));
  text_.close();
}

void LaneWriter::block(const Block& b) {
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
                         s.var->var, value));
}

void LaneWriter::stmt(const Define& s) {
  const std::string value = vector(s.value);
  loop_.strides.set(s.var, std::nullopt);
  text_.line(fmt::format("{} {} = {};", type_of(s.var), s.var->var, value));
}

void LaneWriter::stmt(const Assign& s) {
  text_.line(fmt::format("{} = {};", s.var->var, vector(s.value)));
}

void LaneWriter::stmt(const Store& s) {
  const DType stored = kernel_.buffers[static_cast<size_t>(s.buffer)].dtype;
  const std::string base = buffers_.use(static_cast<size_t>(s.buffer));
  const std::string type = memory_lane_type(stored, loop_.lanes);
  const LaneStride stride = loop_.strides.of(s.index);
  const Expr& stores = before_rounding(s.value, stored);
  const std::string tail = loop_.left.empty() ? "" : "_first";
  const std::string left = loop_.left.empty() ? "" : ", " + loop_.left;
  if (stride == LaneStride(1)) {
    const std::string at = first(s.index);
    const std::string value = stored_lanes(stored, loop_.lanes, vector(stores));
    return text_.line(fmt::format("put_{}{}({} + {}, {}{});", type, tail, base, at, value, left));
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
