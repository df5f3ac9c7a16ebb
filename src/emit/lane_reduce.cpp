// A Reduce in lanes: either its innermost loop runs in 16 lanes, or, within a loop that runs in
// lanes, each of those has one accumulator. If sums are cut into blocks, a block's lanes are added
// to lanes of f64:
//
//   f64x16 s_total = 0;
//   for (int64_t j_block = 0; j_block < 4000; j_block += 1024) {
//     const int64_t j_end = min_i64(4000, j_block + 1024);
//     f32x16 s_lanes = 0;
//     for (int64_t j = j_block; j < j_end; j += 16) s_lanes = s_lanes + get_f32x16(x_ + j);
//     s_total = s_total + to_f64x16(s_lanes);
//   }
//   const float s = (float)sum_of_f64x16(s_total);
#include "emit/lane_writer.h"

namespace cleave::emit {

using namespace cleave::loop;

namespace {

// For bool lanes, -1 and 0: max is any, min is all.
ReduceOp lane_op(const Fold& f) {
  if (f.var.type() != DType::boolean) return f.op;
  return f.op == ReduceOp::max || f.op == ReduceOp::any ? ReduceOp::any : ReduceOp::all;
}

std::string combined(const Fold& f, int lanes, const std::string& a, const std::string& b) {
  switch (lane_op(f)) {
    case ReduceOp::sum: return fmt::format("{} + {}", a, b);
    case ReduceOp::prod: return fmt::format("{} * {}", a, b);
    case ReduceOp::any: return fmt::format("{} | {}", a, b);
    case ReduceOp::all: return fmt::format("{} & {}", a, b);
    case ReduceOp::max: return fmt::format("max_{}({}, {})", lane_type(f.var.type(), lanes), a, b);
    case ReduceOp::min: return fmt::format("min_{}({}, {})", lane_type(f.var.type(), lanes), a, b);
  }
  return a;
}

// The last vector of a short row is written on its own, so that compilers know how many lanes are
// left: a softmax of [n,100] takes 1.1 ns an element with AVX2 without, and .67 with
// (Zen 5, 2026-11-30).
bool has_known_rest(const Reduce& r) {
  constexpr int64_t max_vectors = 16;
  constexpr size_t max_statements = 32;
  const int64_t* n = r.loops.back().extent.as_const_int();
  return r.vectors.has_tail && n && *n > loop_lanes && *n <= max_vectors * loop_lanes &&
         r.body.size() + r.folds.size() <= max_statements;
}

}  // namespace

bool LaneWriter::Sums::has_total(const Fold& f) const {
  return blocks && rounds(f.op, f.var.type());
}

void LaneWriter::define_sum(const Fold& f, DType type, const std::string& suffix) {
  text_.line(fmt::format("{} {}{} = {};", lane_type(type, loop_.lanes), f.var->name(), suffix,
                         vector(identity_of(f.op, type))));
}

void LaneWriter::open_loops(const Reduce& r, const Sums& sums) {
  for (size_t d = 0; d < r.loops.size(); ++d) {
    const Loop& l = r.loops[d];
    const std::string& v = l.var->name();
    const bool in_lanes = sums.in_lanes && d + 1 == r.loops.size();
    const std::string extent = first(l.extent);
    std::string begin = "0", end = extent;
    if (sums.blocks && sums.blocks->loop == d) {
      begin = v + "_block", end = v + "_end";
      const int64_t n = sums.blocks->iterations;
      text_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", begin, extent, n));
      text_.line(fmt::format("const int64_t {} = min_i64({}, {} + {});", end, extent, begin, n));
      for (const Fold& f : r.folds)
        if (sums.has_total(f)) define_sum(f, f.var.type(), sums.suffix);
    }
    if (in_lanes) {
      loop_.strides.set_lane(l.var);
      loop_.loop = &l;
    } else {
      loop_.strides.set(l.var, 0);
    }
    if (in_lanes && begin == "0" && is_one_vector(l.extent)) {
      text_.open("");
      text_.line(fmt::format("const int64_t {} = 0;", v));
      set_left(r.vectors, extent, v);
      if (d + 1 == r.loops.size()) fetch(r.ahead);
      continue;
    }
    if (in_lanes && begin == "0" && has_known_rest(r)) {
      const int64_t n = *l.extent.as_const_int(), whole = n - n % loop_lanes;
      text_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", v, whole, loop_lanes));
      fetch(r.ahead);
      element(r, sums);
      text_.close();
      text_.open("");
      text_.line(fmt::format("const int64_t {} = {};", v, whole));
      set_left(r.vectors, extent, v);
      continue;
    }
    const std::string next = in_lanes ? fmt::format("{} += {}", v, loop_lanes) : "++" + v;
    text_.open(fmt::format("for (int64_t {0} = {1}; {0} < {2}; {3})", v, begin, end, next));
    if (in_lanes) set_left(r.vectors, extent, v);
    if (d + 1 == r.loops.size()) fetch(r.ahead);
  }
}

void LaneWriter::close_loops(const Reduce& r, const Sums& sums) {
  for (size_t d = r.loops.size(); d-- > 0;) {
    text_.close();
    if (!sums.blocks || sums.blocks->loop != d) continue;
    for (const Fold& f : r.folds) {
      if (!sums.has_total(f)) continue;
      const std::string total = f.var->name() + "_total";
      const std::string block = fmt::format("to_{}({}{})", lane_type(DType::f64, loop_.lanes),
                                            f.var->name(), sums.suffix);
      text_.line(fmt::format("{} = {};", total, combined(f, loop_.lanes, total, block)));
    }
    text_.close();
  }
}

void LaneWriter::define_sums(const Reduce& r, const Sums& sums) {
  for (const Fold& f : r.folds)
    if (sums.has_total(f))
      define_sum(f, DType::f64, "_total");
    else
      define_sum(f, f.var.type(), sums.suffix);
}

void LaneWriter::element(const Reduce& r, const Sums& sums) {
  block(r.body);
  std::vector<Expr> values;
  for (const Fold& f : r.folds) values.push_back(f.value);
  const std::vector<std::string> text = vectors(values);
  const bool tail = sums.in_lanes && !loop_.left.empty();
  if (tail) text_.line("const i32x16 on = first_i32x16(left);");
  for (size_t k = 0; k < r.folds.size(); ++k) {
    const Fold& f = r.folds[k];
    const std::string sum = f.var->name() + sums.suffix;
    std::string next = combined(f, loop_.lanes, sum, text[k]);
    if (tail) next = fmt::format("select_{}(on, {}, {})", type_of(f.var), next, sum);
    text_.line(fmt::format("{} = {};", sum, next));
  }
}

// Each lane folds a row of its own in the order in which lanes would: element j into part j mod 16,
// and the parts pairwise.
void LaneWriter::write_parts(const Reduce& r) {
  const Loop& l = r.loops[0];
  const auto part = [](const Fold& f, const char* at) {
    return fmt::format("{}_parts[{}]", f.var->name(), at);
  };
  for (const Fold& f : r.folds) text_.line(fmt::format("{} {};", type_of(f.var), part(f, "16")));
  text_.open("for (int64_t k = 0; k < 16; ++k)");
  for (const Fold& f : r.folds)
    text_.line(fmt::format("{} = {};", part(f, "k"), vector(identity_of(f.op, f.var.type()))));
  text_.close();
  open_loop(l);
  block(r.body);
  std::vector<Expr> values;
  for (const Fold& f : r.folds) values.push_back(f.value);
  const std::vector<std::string> text = vectors(values);
  const std::string at = fmt::format("{} & 15", l.var->name());
  for (size_t k = 0; k < r.folds.size(); ++k) {
    const Fold& f = r.folds[k];
    const std::string sum = part(f, at.c_str());
    text_.line(fmt::format("{} = {};", sum, combined(f, loop_.lanes, sum, text[k])));
  }
  text_.close();
  text_.open("for (int64_t h = 8; h > 0; h /= 2)");
  text_.open("for (int64_t k = 0; k < h; ++k)");
  for (const Fold& f : r.folds)
    text_.line(fmt::format("{} = {};", part(f, "k"),
                           combined(f, loop_.lanes, part(f, "k"), part(f, "k + h"))));
  text_.close();
  text_.close();
  for (const Fold& f : r.folds) {
    text_.line(fmt::format("const {} {} = {};", type_of(f.var), f.var->name(), part(f, "0")));
    loop_.strides.set(f.var, std::nullopt);
  }
}

// Each lane folds in sequential order.
void LaneWriter::stmt(const Reduce& r) {
  if (!r.ordered) return write_parts(r);
  Sums sums{r.blocks, "", false};
  if (sums.blocks) sums.suffix = "_block";
  define_sums(r, sums);
  open_loops(r, sums);
  element(r, sums);
  close_loops(r, sums);
  for (const Fold& f : r.folds) {
    const std::string type = type_of(f.var), &v = f.var->name();
    if (sums.has_total(f))
      text_.line(fmt::format("const {0} {1} = to_{0}({1}_total);", type, v));
    else if (sums.blocks)
      text_.line(fmt::format("const {0} {1} = {1}{2};", type, v, sums.suffix));
    loop_.strides.set(f.var, std::nullopt);
  }
}

void LaneWriter::write(const Reduce& r) {
  loop_ = {};
  const Sums sums{r.blocks, "_lanes", true};
  define_sums(r, sums);
  const size_t at = text_.here();
  open_loops(r, sums);
  element(r, sums);
  close_loops(r, sums);
  text_.insert(at, loop_.before);
  for (const Fold& f : r.folds) {
    const bool of_bool = f.var.type() == DType::boolean;
    const std::string_view type = c_type(f.var.type());
    const std::string &v = f.var->name(), op(name_of(lane_op(f)));
    if (sums.has_total(f))
      text_.line(fmt::format("const {0} {1} = ({0}){2}_of_{3}({1}_total);", type, v, op,
                             lane_type(DType::f64, loop_.lanes)));
    else
      text_.line(fmt::format("const {} {} = {}_of_{}({}{}{});", type, v, op, type_of(f.var), v,
                             sums.suffix, of_bool ? " & 1" : ""));
  }
}

}  // namespace cleave::emit
