// Writes loops in lanes as C text: 16 iterations at a time, or the 64 of a loop over columns.
//
//   for j in 100 independent { y[j] = x[j] * s }
//
//   for (int64_t j = 0; j < 100; j += 16) {
//     const int64_t left = 100 - j;
//     put_f32x16_first(y_ + j, (get_f32x16_first(x_ + j, left) * s), left);
//   }
//
// A Reduce keeps its 16 lanes in a vector (lane_reduce.cpp). Where the lanes are rows, a local
// buffer has a vector for each element of the row. Values and their order are those of
// bytecode.cpp.
#pragma once
#include <span>

#include "emit/c_source.h"
#include "emit/c_text.h"
#include "emit/lane_expr.h"
#include "loop/sum_blocks.h"

namespace cleave::emit {

class LaneWriter {
 public:
  LaneWriter(const loop::Kernel& kernel, CText& text, BufferNames& buffers,
             std::vector<CheckText>& checks, int& next_temp)
      : kernel_(kernel), text_(text), buffers_(buffers), checks_(checks), next_temp_(next_temp) {}

  // Loops in vectors; a parallel one runs from `begin` to `end`.
  void write(const loop::For& f);
  void write(const loop::Reduce& r);

 private:
  void write_loop(const loop::For& f);
  void write_rows(const loop::For& f);
  void block(std::span<const loop::Stmt> b);
  void stmt(const loop::For& f);
  void stmt(const loop::Let& s);
  void stmt(const loop::Define& s);
  void stmt(const loop::Assign& s);
  void stmt(const loop::Reduce& r);
  void stmt(const loop::Store& s);
  void stmt(const loop::If& s);
  void stmt(const loop::Check& s);

  // ---- a Reduce (lane_reduce.cpp)
  struct Sums {
    std::optional<loop::SumBlocks> blocks;
    std::string suffix;  // appended to a fold's name: the accumulator's name
    bool in_lanes;       // the innermost loop runs in lanes
    // Whether its blocks are added up in f64.
    bool has_total(const loop::Fold& f) const;
  };
  void define_sum(const loop::Fold& f, DType type, const std::string& suffix);
  void define_sums(const loop::Reduce& r, const Sums& sums);
  void open_loops(const loop::Reduce& r, const Sums& sums);
  void close_loops(const loop::Reduce& r, const Sums& sums);
  // Writes one vector of iterations.
  void element(const loop::Reduce& r, const Sums& sums);
  void write_parts(const loop::Reduce& r);
  void open_loop(const loop::Loop& l);
  void fetch(const loop::Exprs& ahead);
  // Inside the loop: sets the number of active lanes, for the iterations from `at` to `end`.
  bool is_one_vector(const loop::Expr& extent) const;
  bool ends_in(int64_t buffer, const loop::Expr& index) const;
  void set_left(const loop::Vectors& vectors, const std::string& end, const std::string& at);
  std::vector<std::string> vectors(const std::vector<loop::Expr>& e);
  std::string vector(const loop::Expr& e) { return vectors({e})[0]; }
  std::string first(const loop::Expr& e);
  std::string type_of(const loop::Expr& e) const { return lane_type(e.type(), loop_.lanes); }

  const loop::Kernel& kernel_;
  CText& text_;
  BufferNames& buffers_;
  std::vector<CheckText>& checks_;
  int& next_temp_;
  LaneLoop loop_;
};

}  // namespace cleave::emit
