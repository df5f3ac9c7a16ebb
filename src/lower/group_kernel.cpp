#include "lower/group_kernel.h"

#include <algorithm>
#include <bit>

#include "base/alignment.h"
#include "base/result.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// A value is kept for the next passes where computing it again would take longer than this.
constexpr int64_t dear_flops = 8;

class GroupWriter {
 public:
  GroupWriter(const Graph& graph, const std::vector<NodeId>& nodes, GroupPlan plan,
              const std::vector<GroupResult>& results, Kernel& kernel,
              const MakePartial& make_partial)
      : graph_(graph), nodes_(nodes), plan_(std::move(plan)), folds_(plan_.folds),
        frame_(plan_.frame), results_(results), kernel_(kernel), make_partial_(make_partial),
        sheet_(kernel), builder_(sheet_, {}, {}), values_(graph, nodes, sheet_),
        last_pass_(plan_.last_pass), partials_(folds_.size()) {}

  GroupCode write(const std::vector<std::pair<ValueId, Bound>>& operands) {
    for (const auto& [v, at] : operands) values_.bind(v, at);
    for (const GroupResult& r : results_) values_.add_use(r.value);
    switch (plan_.mode) {
      case GroupMode::plain: plain(); break;
      case GroupMode::rows: row_passes(false); break;
      case GroupMode::rows_and_columns: row_passes(true); break;
      case GroupMode::columns: column_blocks(); break;
      case GroupMode::lanes: lanes(); break;
      case GroupMode::chunks: chunks(); break;
    }
    GroupCode out;
    out.streams = values_.streams();
    if (folds_.empty()) out.same_address = same_addresses();
    return out;
  }

 private:
  // ---- indices

  // Sets what the loops' variables say about the elements: one variable for each part of the frame.
  void set_frame(const Exprs& parts) {
    Exprs rows;
    std::vector<int64_t> all_factors(parts.size()), row_factors, inner_factors;
    Exprs inner;
    int64_t step = 1, row_step = 1, inner_step = 1;
    row_factors.assign(parts.size(), 0), inner_factors.assign(parts.size(), 0);
    for (size_t d = parts.size(); d-- > 0;) {
      const int64_t extent = frame_.parts[d].extent;
      all_factors[d] = step;
      step *= extent;
      int64_t& own = frame_.parts[d].is_row ? row_step : inner_step;
      (frame_.parts[d].is_row ? row_factors : inner_factors)[d] = own;
      own *= extent;
    }
    IndexMath& math = values_.math();
    if (parts.empty()) {
      number_ = row_ = inner_ = Expr(0);
      return;
    }
    number_ = math.dot(parts, all_factors);
    row_ = math.dot(parts, row_factors);
    inner_ = math.dot(parts, inner_factors);
  }
  Exprs index_in(ValueId v) {
    const std::vector<int64_t> shape = static_shape(graph_.type(v));
    return values_.math().delinearise(is_full(v) ? number_ : row_, shape);
  }
  Exprs row_index(ValueId v) {
    return values_.math().delinearise(row_, static_shape(graph_.type(v)));
  }
  // The index of a fold's operand.
  Exprs operand_index(const FoldCall& f) {
    return values_.math().delinearise(number_, static_shape(graph_.type(f.operand)));
  }
  // Row parts of the frame from the number of the row.
  void split_rows(const Expr& p, Exprs& parts) {
    std::vector<int64_t> extents;
    for (const Frame::Part& part : frame_.parts)
      if (part.is_row) extents.push_back(part.extent);
    const Exprs index = values_.math().delinearise(p, extents);
    size_t next = 0;
    for (size_t d = 0; d < parts.size(); ++d)
      if (frame_.parts[d].is_row) parts[d] = index[next++];
  }
  Expr declared(const Expr& var, int64_t extent) {
    values_.math().declare(var, extent);
    return extent == 1 ? Expr(0) : var;
  }

  // ---- values

  bool is_full(ValueId v) const { return plan_.is_full(graph_, v); }
  size_t pass_of(ValueId v) const { return plan_.pass_of(v); }
  const FoldCall* fold_of(ValueId v) const { return plan_.fold_of(v); }
  const ReductionRule& rule(const FoldCall& f) const {
    return std::get<ReductionRule>((*graph_.node(f.node).op->lower)->form);
  }
  std::optional<Bound>& partial(const FoldCall& f) {
    return partials_[static_cast<size_t>(&f - folds_.data())];
  }

  Expr mapped(const FoldCall& f) {
    const OpView op = graph_.view(f.node);
    return rule(f).map(op, values_.operand(f.node, 0, operand_index(f)));
  }
  Expr finished(const FoldCall& f, Expr folded) {
    const OpView op = graph_.view(f.node);
    if (rule(f).finish) folded = rule(f).finish(op, std::move(folded), f.form.count);
    const DType stored = op.out_type(0).dtype;
    folded = cast(std::move(folded), compute_type(stored));
    return compute_type(stored) == stored ? folded : round_to_stored(std::move(folded), stored);
  }
  DType accumulator(const FoldCall& f) const {
    const OpView op = graph_.view(f.node);
    return rule(f).map(op, constant(compute_type(op.in_type(0).dtype), 0)).type();
  }
  void finish_fold(const FoldCall& f, const Expr& folded) {
    const Expr done = builder_.let(finished(f, folded), "folded");
    values_.set_folded(f.result, row_index(f.result), done);
  }

  void store(const Bound& at, const Exprs& index, Expr value) {
    Expr address = values_.address(at.layout, index);
    writes_.emplace_back(at.buffer, address);
    sheet_.open.back()->push_back({Store{at.buffer, std::move(address), std::move(value)}});
  }
  struct Pending {
    const GroupResult* result;
    Expr value;
  };
  // All values are computed before the first is stored: it may lie over an operand.
  void store_all(std::vector<Pending> list) {
    if (list.size() > 1)
      for (Pending& p : list) p.value = builder_.let(p.value, "out");
    for (Pending& p : list) store(p.result->at, index_in(p.result->value), p.value);
  }

  // ---- modes

  // The results of one element in a pass.
  std::vector<Pending> results_of_pass(std::optional<size_t> pass) {
    std::vector<Pending> out;
    for (const GroupResult& r : results_)
      if (is_full(r.value) && !fold_of(r.value) && (!pass || pass_of(r.value) == *pass))
        out.push_back({&r, values_.value(r.value, index_in(r.value))});
    return out;
  }

  void plain() {
    const std::vector<int64_t> shape = static_shape(graph_.type(results_[0].value));
    if (numel_of(shape) == 0) return;
    const size_t inner = inner_dims(shape);
    const auto split = shape.end() - static_cast<std::ptrdiff_t>(inner);
    const std::vector<int64_t> outer(shape.begin(), split), last(split, shape.end());
    int64_t rows = numel_of(outer), columns = numel_of(last);
    frame_.parts = {{rows, true}, {columns, false}};
    const auto body = [&](const Exprs& vars, const Expr& number) {
      values_.open_scope(vars);
      number_ = number;
      store_all(results_of_pass(std::nullopt));
      values_.close_scope();
    };
    if (rows == 1)
      return builder_.parallel({columns}, [&](const Exprs& j) {
        body(j, values_.math().simplify(declared(j[0], columns)));
      });
    builder_.parallel({rows}, [&](const Exprs& p) {
      values_.open_scope(p);
      declared(p[0], rows);
      builder_.each(Expr(columns), [&](const Expr& j) {
        declared(j, columns);
        body({j}, values_.math().dot({p[0], j}, {columns, 1}));
      });
      values_.close_scope();
    });
  }

  // How many of the last dims every operand and result walks through as one.
  size_t inner_dims(const std::vector<int64_t>& shape) {
    // Written once into nothing, with a variable for each dim.
    Kernel nothing;
    KernelSheet sheet(nothing);
    GroupValues probe(graph_, nodes_, sheet);
    for (const auto& [v, at] : outside_) probe.bind(v, at);
    Exprs vars;
    std::vector<int64_t> steps(shape.size());
    int64_t step = 1;
    for (size_t d = shape.size(); d-- > 0; step *= shape[d]) steps[d] = step;
    for (size_t d = 0; d < shape.size(); ++d) {
      vars.push_back(shape[d] == 1 ? Expr(0) : make_var(sheet.next_var++, "d", DType::i64));
      if (shape[d] != 1) probe.math().declare(vars.back(), shape[d]);
    }
    Exprs used;
    for (const Expr& v : vars)
      if (v->op == Op::var) used.push_back(v);
    probe.open_scope(used);
    const Expr number = probe.math().dot(vars, steps);
    Exprs uses;
    for (const GroupResult& r : results_) {
      const Exprs index = probe.math().delinearise(number, static_shape(graph_.type(r.value)));
      uses.push_back(probe.address(r.at.layout, index));
      collect(probe.value(r.value, index), uses);
    }
    for (const Stmt& s : nothing.body) collect(s, uses);
    probe.close_scope();
    std::vector<LinearIndex> forms;
    for (const Expr& e : uses) forms.push_back(probe.math().linear(e));
    size_t inner = shape.size();
    for (size_t d = shape.size(); d-- > 1;) {
      if (joins(probe.math(), forms, vars, shape, d)) continue;
      inner = shape.size() - d;
      break;
    }
    // A short last run is no loop to be fast in; its index is taken apart instead.
    return inner;
  }

  // Whether dim d and what lies before it up to the next dim of more than one element are walked
  // through as one by all of these indices.
  static bool joins(IndexMath& math, const std::vector<LinearIndex>& forms, const Exprs& vars,
                    const std::vector<int64_t>& shape, size_t d) {
    if (shape[d] == 1) return true;
    size_t before = d;
    while (before-- > 0)
      if (shape[before] != 1) break;
    if (before == ~size_t{0}) return true;
    const int32_t outer = math.atom_of(vars[before]), inner = math.atom_of(vars[d]);
    return std::all_of(forms.begin(), forms.end(), [&](const LinearIndex& x) {
      return x.factor_of(outer) == x.factor_of(inner) * shape[d] &&
             !math.is_nested(x, vars[before]->i) && !math.is_nested(x, vars[d]->i);
    });
  }

  // Whether it is more than arithmetic of indices.
  static bool computes(const Expr& e) {
    return e->op == Op::load || e->op == Op::cast || e->op == Op::philox ||
           std::any_of(e->args.begin(), e->args.end(), [](const Expr& a) { return computes(a); });
  }
  // Every index expression in it, outermost ones alone.
  static void collect(const Expr& e, Exprs& out) {
    if (e.type() == DType::i64 && !computes(e)) {
      out.push_back(e);
      return;
    }
    for (const Expr& a : e->args) collect(a, out);
  }
  static void collect(const Stmt& s, Exprs& out) {
    if (const auto* l = std::get_if<Let>(&s.node)) collect(l->value, out);
    if (const auto* c = std::get_if<Check>(&s.node)) {
      collect(c->condition, out);
      collect(c->value, out);
    }
    if (const auto* st = std::get_if<Store>(&s.node)) {
      collect(st->index, out);
      collect(st->value, out);
    }
    if (const auto* r = std::get_if<Reduce>(&s.node)) {
      for (const Stmt& b : r->body) collect(b, out);
      for (const Fold& f : r->folds) collect(f.value, out);
    }
    if (const auto* f = std::get_if<For>(&s.node))
      for (const Stmt& b : f->body) collect(b, out);
    if (const auto* i = std::get_if<If>(&s.node))
      for (const Stmt& b : i->then) collect(b, out);
  }

  // ---- rows

  void row_passes(bool with_columns) {
    const int64_t rows = frame_.rows();
    if (with_columns) make_partials();
    choose_kept();
    if (!with_columns) {
      builder_.parallel({rows}, [&](const Exprs& p) {
        values_.open_scope(p);
        row(declared(p[0], rows));
        values_.close_scope();
      });
      return;
    }
    const FoldForm* cut = nullptr;
    for (const FoldCall& f : folds_)
      if (!f.in_rows) cut = &f.form;
    builder_.parallel({cut->parts}, [&](const Exprs& part) {
      values_.open_scope(part);
      part_ = declared(part[0], cut->parts);
      builder_.each(Expr(frame_.row_elements()), [&](const Expr& c) {
        for (const FoldCall& f : folds_)
          if (!f.in_rows)
            store_partial(f, c, identity_of(rule(f).op, partial(f)->dtype));
      });
      const Expr first = builder_.let(part_ * Expr(cut->step), "first");
      values_.own(first);
      values_.math().declare(first, std::max<int64_t>(rows - cut->step, 0) + 1);
      builder_.loop(rows_of_part(first, *cut), [&](const Expr& r) {
        values_.open_scope({r});
        declared(r, std::min(cut->step, rows));
        row(values_.math().simplify(first + r));
        values_.close_scope();
      });
      if (has_local_sums_) finish_columns();
      values_.close_scope();
    });
    if (!has_local_sums_) add_parts();
  }

  // Sums of a single part lie on the stack, if they are small.
  void make_partials() {
    int64_t bytes = 0, parts = 1;
    for (const FoldCall& f : folds_)
      if (!f.in_rows) {
        bytes += rounded(f.form.results * size_of(accumulator(f)));
        parts = f.form.parts;
      }
    has_local_sums_ = parts == 1 && bytes <= most_local_bytes / 2;
    if (has_local_sums_) room_ -= bytes;
    for (const FoldCall& f : folds_) {
      if (f.in_rows) continue;
      if (!has_local_sums_) {
        make_partial(f);
        continue;
      }
      Bound at;
      at.buffer = static_cast<int64_t>(kernel_.buffers.size());
      at.dtype = accumulator(f);
      kernel_.buffers.push_back({graph_.name(f.result) + ".sum", at.dtype,
                                 std::max<int64_t>(f.form.results, 1), Access::local});
      partial(f) = at;
    }
  }

  void finish_columns() {
    builder_.each(Expr(frame_.row_elements()), [&](const Expr& c) {
      for (const FoldCall& f : folds_)
        if (!f.in_rows)
          store(result_of(f).at, values_.math().delinearise(
                                     declared(c, frame_.row_elements()),
                                     static_shape(graph_.type(f.result))),
                finished(f, load(partial(f)->buffer, partial(f)->dtype, c)));
    });
  }

  const GroupResult& result_of(const FoldCall& f) const {
    return *std::find_if(results_.begin(), results_.end(),
                         [&](const GroupResult& r) { return r.value == f.result; });
  }

  static Expr rows_of_part(const Expr& first, const FoldForm& cut) {
    const int64_t extent = cut.runs[cut.cut_run()].extent;
    return binary(Op::max, binary(Op::min, Expr(extent) - first, Expr(cut.step)), Expr(0));
  }

  void row(const Expr& p) {
    Exprs parts(frame_.parts.size());
    split_rows(p, parts);
    Exprs inner_extents;
    for (const Frame::Part& part : frame_.parts)
      if (!part.is_row) inner_extents.emplace_back(part.extent);
    if (inner_extents.empty()) inner_extents.emplace_back(1);
    const auto at = [&](const Exprs& vars) {
      Exprs all = parts;
      size_t next = 0;
      for (size_t d = 0; d < all.size(); ++d)
        if (!frame_.parts[d].is_row) all[d] = declared(vars[next++], frame_.parts[d].extent);
      set_frame(all);
    };
    // Within a row nothing has been said about the inner variables yet.
    Exprs only_rows = parts;
    for (size_t d = 0; d < parts.size(); ++d)
      if (!frame_.parts[d].is_row) only_rows[d] = Expr(0);
    set_frame(only_rows);
    for (size_t pass = 0; pass <= last_pass_; ++pass) {
      set_frame(only_rows);
      row_results(pass);
      std::vector<const FoldCall*> folds;
      for (const FoldCall& f : folds_)
        if (f.in_rows && f.pass == pass) folds.push_back(&f);
      const auto body = [&](const Exprs& vars) {
        values_.open_scope(vars);
        at(vars);
        read_kept(pass);
        keep_values(pass);
        std::vector<KernelBuilder::Folded> out;
        for (const FoldCall* f : folds) out.push_back({rule(*f).op, mapped(*f)});
        std::vector<std::pair<const FoldCall*, Expr>> sums;
        for (const FoldCall& f : folds_)
          if (!f.in_rows && f.pass == pass)
            sums.emplace_back(&f, builder_.let(mapped(f), "v"));
        store_all(results_of_pass(pass));
        for (const auto& [f, x] : sums) add_to_partial(*f, inner_, x);
        values_.close_scope();
        return out;
      };
      if (folds.empty()) {
        if (!has_work(pass)) continue;
        nest(inner_extents, 0, {}, body);
      } else {
        const Exprs sums = builder_.folds(inner_extents, body);
        set_frame(only_rows);
        for (size_t k = 0; k < folds.size(); ++k) {
          values_.own(sums[k]);
          finish_fold(*folds[k], sums[k]);
        }
      }
    }
  }

  template <class F>
  void nest(const Exprs& extents, size_t depth, Exprs vars, const F& body) {
    if (depth == extents.size()) {
      body(vars);
      return;
    }
    const auto inside = [&](const Expr& v) {
      Exprs more = vars;
      more.push_back(v);
      nest(extents, depth + 1, more, body);
    };
    if (depth + 1 == extents.size())
      builder_.each(extents[depth], inside);
    else
      builder_.loop(extents[depth], inside);
  }

  bool has_work(size_t pass) const {
    for (const GroupResult& r : results_)
      if (is_full(r.value) && !fold_of(r.value) && pass_of(r.value) == pass) return true;
    for (const FoldCall& f : folds_)
      if (f.pass == pass) return true;
    return std::any_of(kept_.begin(), kept_.end(),
                       [&](const Kept& k) { return k.local >= 0 && k.pass == pass; });
  }

  // One value a row: stored between the passes, as soon as it is known.
  void row_results(size_t pass) {
    std::vector<Pending> out;
    for (const GroupResult& r : results_) {
      if (const FoldCall* f = fold_of(r.value); f && !f->in_rows) continue;
      if (!fold_of(r.value) && is_full(r.value)) continue;
      if (pass_of(r.value) != pass) continue;
      out.push_back({&r, values_.value(r.value, row_index(r.value))});
    }
    if (out.size() > 1)
      for (Pending& p : out) p.value = builder_.let(p.value, "out");
    for (Pending& p : out) store(p.result->at, row_index(p.result->value), p.value);
  }

  // ---- values that wait for a later pass

  struct Kept {
    ValueId value;
    size_t pass = 0;                      // in which it is computed
    int64_t local = -1;                   // a buffer of its own, else
    const GroupResult* result = nullptr;  // where it is stored anyway
  };

  void choose_kept() {
    if (last_pass_ == 0) return;
    std::unordered_map<uint32_t, uint64_t> needed;  // passes in which the value is computed
    const auto need = [&](ValueId v, size_t pass) {
      needed[v.v] |= uint64_t{1} << std::min<size_t>(pass, 63);
    };
    for (const FoldCall& f : folds_) need(f.operand, f.pass);
    for (const GroupResult& r : results_)
      if (!fold_of(r.value)) need(r.value, pass_of(r.value));
    for (size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = graph_.node(nodes_[i]);
      if (fold_form_of(graph_, nodes_[i])) continue;
      uint64_t passes = 0;
      for (uint32_t k = 0; k < node.output_count; ++k) {
        const ValueId v = node.out(k);
        uint64_t own = needed[v.v];
        if (own & (own - 1)) own = keep(v, own);
        passes |= own;
      }
      for (const ValueId v : node.inputs)
        if (v.valid() && values_.is_inside(v)) needed[v.v] |= passes;
    }
    for (const Kept& k : kept_)
      if (k.result)
        kernel_.buffers[static_cast<size_t>(k.result->at.buffer)].access = Access::update;
  }

  // The passes in which it is still computed once it was decided whether to keep it.
  uint64_t keep(ValueId v, uint64_t passes) {
    const NodeId n = graph_.value(v).def;
    if (!is_full(v) || !elementwise_rule(**graph_.node(n).op->lower, graph_.view(n))) return passes;
    const uint64_t first = passes & ~(passes - 1);
    const auto pass = static_cast<size_t>(std::countr_zero(first));
    for (const GroupResult& r : results_)
      if (r.value == v) {
        kept_.push_back({v, pass, -1, &r});
        return first;
      }
    const OpView op = graph_.view(n);
    const int64_t elements = std::max<int64_t>(numel_of(static_shape(graph_.type(v))), 1);
    const DType dtype = compute_type(graph_.type(v).dtype);
    const int64_t bytes = rounded(frame_.row_elements() * size_of(dtype));
    if ((*op.def().cost)(op).flops / elements < dear_flops || bytes > room_) return passes;
    room_ -= bytes;
    kept_.push_back({v, pass, static_cast<int64_t>(kernel_.buffers.size()), nullptr});
    values_.add_use(v);
    kernel_.buffers.push_back(
        {graph_.name(v), dtype, std::max<int64_t>(frame_.row_elements(), 1), Access::local});
    return first;
  }

  void keep_values(size_t pass) {
    for (const Kept& k : kept_)
      if (k.local >= 0 && k.pass == pass) {
        Expr x = values_.value(k.value, index_in(k.value));
        sheet_.open.back()->push_back({Store{k.local, inner_, std::move(x)}});
      }
  }

  // In later passes they are read.
  void read_kept(size_t pass) {
    for (const Kept& k : kept_) {
      if (k.pass >= pass) continue;
      const Exprs index = index_in(k.value);
      if (k.local >= 0)
        values_.set_kept(k.value, index, k.local, compute_type(graph_.type(k.value).dtype), inner_);
      else
        values_.set_kept(k.value, index, k.result->at.buffer, k.result->at.dtype,
                         values_.address(k.result->at.layout, index));
    }
  }

  // ---- sums of parts

  void make_partial(const FoldCall& f) {
    const std::string name = graph_.name(f.result) + ".partial";
    partial(f) = make_partial_(name, accumulator(f), f.form.results * f.form.parts);
    kernel_.buffers[static_cast<size_t>(partial(f)->buffer)].access = Access::update;
  }
  Expr partial_at(const FoldCall& f, const Expr& part, const Expr& column) {
    return part * Expr(f.form.results) + column;
  }
  void store_partial(const FoldCall& f, const Expr& column, Expr x) {
    sheet_.open.back()->push_back(
        {Store{partial(f)->buffer, partial_at(f, part_, column), std::move(x)}});
  }
  void add_to_partial(const FoldCall& f, const Expr& column, const Expr& x) {
    const Expr at = partial_at(f, part_, column);
    Expr sum = combined(rule(f).op, load(partial(f)->buffer, partial(f)->dtype, at), x);
    sheet_.open.back()->push_back({Store{partial(f)->buffer, at, std::move(sum)}});
  }
  static Expr combined(ReduceOp op, const Expr& a, const Expr& b) {
    switch (op) {
      case ReduceOp::sum: return a + b;
      case ReduceOp::prod: return a * b;
      case ReduceOp::max: return a.type() == DType::boolean ? binary(Op::logical_or, a, b)
                                                            : binary(Op::max, a, b);
      case ReduceOp::min: return a.type() == DType::boolean ? binary(Op::logical_and, a, b)
                                                            : binary(Op::min, a, b);
      case ReduceOp::any: return binary(Op::logical_or, a, b);
      case ReduceOp::all: return binary(Op::logical_and, a, b);
    }
    return a;
  }

  // The second loop: parts in their order, block of columns after block.
  void add_parts() {
    for (const FoldCall& f : folds_) {
      if (!partial(f)) continue;
      const GroupResult* result = &result_of(f);
      const int64_t n = f.form.results;
      builder_.parallel({(n + column_lanes - 1) / column_lanes}, [&](const Exprs& i) {
        const Expr first = builder_.let(i[0] * Expr(column_lanes), "first");
        values_.math().declare(first, std::max<int64_t>(n - column_lanes, 0) + 1);
        builder_.lanes(binary(Op::min, Expr(n) - first, Expr(column_lanes)), [&](const Expr& l) {
          declared(l, std::min<int64_t>(column_lanes, n));
          const Expr column = first + l;
          const Expr sum = builder_.reduce(rule(f).op, {f.form.parts}, [&](const Exprs& q) {
            return load(partial(f)->buffer, partial(f)->dtype, partial_at(f, q[0], column));
          });
          store(result->at,
                values_.math().delinearise(column, static_shape(graph_.type(f.result))),
                finished(f, sum));
        });
      });
    }
  }

  // ---- columns alone

  void column_blocks() {
    const FoldForm& cut = folds_[0].form;
    const bool whole = cut.parts == 1;
    if (!whole)
      for (const FoldCall& f : folds_) make_partial(f);
    // Rows are folded: the last part is a column; other kept parts go with the block.
    std::vector<int64_t> outer = {cut.parts};
    for (size_t d = 0; d + 1 < frame_.parts.size(); ++d)
      if (!frame_.parts[d].is_row) outer.push_back(frame_.parts[d].extent);
    const int64_t last = frame_.parts.back().extent;
    outer.push_back((last + column_lanes - 1) / column_lanes);
    builder_.parallel(outer, [&](const Exprs& i) {
      values_.open_scope(i);
      for (size_t d = 0; d < i.size(); ++d) declared(i[d], outer[d]);
      part_ = i[0];
      const Expr first = block_start(i.back(), last);
      const Expr first_row = builder_.let(part_ * Expr(cut.step), "row");
      values_.own(first_row);
      const int64_t extent = cut.runs[cut.cut_run()].extent;
      values_.math().declare(first_row, std::max<int64_t>(extent - cut.step, 0) + 1);
      builder_.lanes(block_size(first, last), [&](const Expr& l) {
        values_.open_scope({l});
        declared(l, std::min<int64_t>(column_lanes, last));
        Exprs extents = {rows_of_part(first_row, cut)};
        std::vector<int64_t> row_extents = {std::min(cut.step, extent)};
        bool is_first = true;
        for (const Frame::Part& p : frame_.parts)
          if (p.is_row && !std::exchange(is_first, false)) {
            extents.emplace_back(p.extent);
            row_extents.push_back(p.extent);
          }
        Expr column;
        const Exprs sums = builder_.folds(extents, [&](const Exprs& r) {
          values_.open_scope(r);
          Exprs parts(frame_.parts.size());
          size_t row = 0, kept = 1;
          for (size_t d = 0; d < parts.size(); ++d) {
            if (d + 1 == parts.size()) {
              parts[d] = first + l;
            } else if (frame_.parts[d].is_row) {
              parts[d] = declared(r[row], row_extents[row]);
              if (row++ == 0) parts[d] = first_row + parts[d];
            } else {
              parts[d] = i[kept++];
            }
          }
          set_frame(parts);
          column = inner_;
          std::vector<KernelBuilder::Folded> out;
          for (const FoldCall& f : folds_) out.push_back({rule(f).op, mapped(f)});
          store_all(results_of_pass(std::nullopt));
          values_.close_scope();
          return out;
        });
        for (size_t k = 0; k < folds_.size(); ++k) {
          const FoldCall& f = folds_[k];
          if (!whole) {
            store_partial(f, column, sums[k]);
            continue;
          }
          store(result_of(f).at,
                values_.math().delinearise(column, static_shape(graph_.type(f.result))),
                finished(f, sums[k]));
        }
        values_.close_scope();
      });
      values_.close_scope();
    });
    if (!whole) add_parts();
  }

  Expr block_start(const Expr& block, int64_t last) {
    const Expr first = builder_.let(block * Expr(column_lanes), "first");
    values_.own(first);
    // Only first + lane is read, which is below `last`.
    values_.math().declare(first, std::max<int64_t>(last - column_lanes, 0) + 1);
    return first;
  }
  static Expr block_size(const Expr& first, int64_t last) {
    return binary(Op::min, Expr(last) - first, Expr(column_lanes));
  }

  // ---- rows side by side

  void lanes() {
    std::vector<int64_t> outer;
    for (size_t d = 0; d + 1 < frame_.parts.size(); ++d)
      if (frame_.parts[d].is_row) outer.push_back(frame_.parts[d].extent);
    const int64_t last = frame_.parts.back().extent;
    outer.push_back((last + column_lanes - 1) / column_lanes);
    builder_.parallel(outer, [&](const Exprs& i) {
      values_.open_scope(i);
      for (size_t d = 0; d < i.size(); ++d) declared(i[d], outer[d]);
      const Expr first = block_start(i.back(), last);
      builder_.lanes(block_size(first, last), [&](const Expr& l) {
        values_.open_scope({l});
        declared(l, std::min<int64_t>(column_lanes, last));
        Exprs parts(frame_.parts.size());
        size_t row = 0;
        for (size_t d = 0; d + 1 < parts.size(); ++d)
          if (frame_.parts[d].is_row) parts[d] = i[row++];
        parts.back() = first + l;
        lane_row(parts);
        values_.close_scope();
      });
      values_.close_scope();
    });
  }

  void lane_row(const Exprs& rows) {
    std::vector<size_t> inner;  // parts within a row
    for (size_t d = 0; d < rows.size(); ++d)
      if (!frame_.parts[d].is_row) inner.push_back(d);
    Exprs only_rows = rows;
    for (const size_t d : inner) only_rows[d] = Expr(0);
    for (size_t pass = 0; pass <= last_pass_; ++pass) {
      set_frame(only_rows);
      row_results(pass);
      for (const FoldCall& f : folds_) {
        if (f.pass != pass) continue;
        finish_lane_fold(f, rows, only_rows, inner);
      }
      bool stores = false;
      for (const GroupResult& r : results_)
        stores |= is_full(r.value) && !fold_of(r.value) && pass_of(r.value) == pass;
      if (!stores) continue;
      Exprs extents;
      for (const size_t d : inner) extents.emplace_back(frame_.parts[d].extent);
      lane_nest(extents, 0, {}, [&](const Exprs& vars) {
        values_.open_scope(vars);
        Exprs all = rows;
        for (size_t k = 0; k < inner.size(); ++k)
          all[inner[k]] = declared(vars[k], frame_.parts[inner[k]].extent);
        set_frame(all);
        store_all(results_of_pass(pass));
        values_.close_scope();
      });
    }
  }

  template <class F>
  void lane_nest(const Exprs& extents, size_t depth, Exprs vars, const F& body) {
    if (depth == extents.size()) return body(vars);
    builder_.loop(extents[depth], [&](const Expr& v) {
      Exprs more = vars;
      more.push_back(v);
      lane_nest(extents, depth + 1, more, body);
    });
  }

  // Part after part, as the sums of parts are folded where the columns stand alone.
  void finish_lane_fold(const FoldCall& f, const Exprs& rows, const Exprs& only_rows,
                        const std::vector<size_t>& inner) {
    const auto part_sum = [&](const Expr& first, const Expr& count, int64_t most) {
      Exprs extents = {count};
      for (size_t k = 1; k < inner.size(); ++k)
        extents.emplace_back(frame_.parts[inner[k]].extent);
      return builder_.folds(extents, [&](const Exprs& r) {
        values_.open_scope(r);
        Exprs all = rows;
        for (size_t k = 0; k < inner.size(); ++k) {
          declared(r[k], k == 0 ? most : frame_.parts[inner[k]].extent);
          all[inner[k]] = k == 0 ? first + r[0] : r[k];
        }
        set_frame(all);
        std::vector<KernelBuilder::Folded> out = {{rule(f).op, mapped(f)}};
        values_.close_scope();
        return out;
      })[0];
    };
    Expr total;
    if (f.form.parts <= 1) {
      total = part_sum(Expr(0), Expr(frame_.parts[inner[0]].extent), frame_.parts[inner[0]].extent);
    } else {
      total = builder_.define(identity_of(rule(f).op, accumulator(f)), "total");
      values_.own(total);
      builder_.loop(Expr(f.form.parts), [&](const Expr& q) {
        values_.open_scope({q});
        declared(q, f.form.parts);
        const Expr first = builder_.let(q * Expr(f.form.step), "row");
        values_.own(first);
        const int64_t extent = frame_.parts[inner[0]].extent;
        values_.math().declare(first, std::max<int64_t>(extent - f.form.step, 0) + 1);
        const Expr sum =
            part_sum(first, rows_of_part(first, f.form), std::min(f.form.step, extent));
        builder_.assign(total, combined(rule(f).op, total, sum));
        values_.close_scope();
      });
    }
    values_.own(total);
    set_frame(only_rows);
    finish_fold(f, total);
  }

  // ---- chunks

  void chunks() {
    for (const FoldCall& f : folds_) make_partial(f);
    const FoldForm& cut = folds_[0].form;
    const int64_t rows = frame_.rows();
    builder_.parallel({rows, cut.parts}, [&](const Exprs& i) {
      values_.open_scope(i);
      declared(i[0], rows), declared(i[1], cut.parts);
      part_ = i[1];
      Exprs parts(frame_.parts.size());
      split_rows(i[0], parts);
      const Expr first = builder_.let(i[1] * Expr(cut.step), "first");
      values_.own(first);
      const int64_t extent = cut.runs[cut.cut_run()].extent;
      values_.math().declare(first, std::max<int64_t>(extent - cut.step, 0) + 1);
      Exprs extents = {rows_of_part(first, cut)};
      std::vector<size_t> inner;
      for (size_t d = 0; d < parts.size(); ++d)
        if (!frame_.parts[d].is_row) {
          if (!inner.empty()) extents.emplace_back(frame_.parts[d].extent);
          inner.push_back(d);
        }
      const Exprs sums = builder_.folds(extents, [&](const Exprs& r) {
        values_.open_scope(r);
        for (size_t k = 0; k < inner.size(); ++k) {
          declared(r[k], k == 0 ? std::min(cut.step, extent) : frame_.parts[inner[k]].extent);
          parts[inner[k]] = k == 0 ? first + r[0] : r[k];
        }
        set_frame(parts);
        std::vector<KernelBuilder::Folded> out;
        for (const FoldCall& f : folds_) out.push_back({rule(f).op, mapped(f)});
        store_all(results_of_pass(std::nullopt));
        values_.close_scope();
        return out;
      });
      for (size_t k = 0; k < folds_.size(); ++k)
        sheet_.open.back()->push_back({Store{partial(folds_[k])->buffer,
                                             i[0] * Expr(cut.parts) + i[1], sums[k]}});
      values_.close_scope();
    });
    for (const FoldCall& f : folds_) {
      const GroupResult* result = &result_of(f);
      builder_.parallel({rows}, [&](const Exprs& p) {
        const Expr sum = builder_.reduce(rule(f).op, {f.form.parts}, [&](const Exprs& q) {
          return load(partial(f)->buffer, partial(f)->dtype, p[0] * Expr(f.form.parts) + q[0]);
        });
        store(result->at,
              values_.math().delinearise(declared(p[0], rows), static_shape(graph_.type(f.result))),
              finished(f, sum));
      });
    }
  }

  // ---- in place

  std::vector<int64_t> same_addresses() const {
    std::vector<int64_t> out;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const auto buffer = static_cast<int64_t>(b);
      bool read = false, same = true;
      for (const auto& [from, at] : values_.reads()) {
        if (from != buffer) continue;
        read = true;
        for (const auto& [to, where] : writes_)
          same &= &*where == &*at && size_of(kernel_.buffers[static_cast<size_t>(to)].dtype) ==
                                         size_of(kernel_.buffers[b].dtype);
      }
      if (read && same) out.push_back(buffer);
    }
    return out;
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const GroupPlan plan_;
  const std::vector<FoldCall>& folds_;
  Frame frame_;
  const std::vector<GroupResult>& results_;
  Kernel& kernel_;
  const MakePartial& make_partial_;
  KernelSheet sheet_;
  KernelBuilder builder_;
  GroupValues values_;
  size_t last_pass_;
  std::vector<std::optional<Bound>> partials_;  // by fold
  std::vector<Kept> kept_;
  Expr number_, row_, inner_;  // of the element, of its row, within its row
  Expr part_;
  bool has_local_sums_ = false;
  int64_t room_ = most_local_bytes;
  std::vector<std::pair<int64_t, Expr>> writes_;

 public:
  std::vector<std::pair<ValueId, Bound>> outside_;
};

}  // namespace

GroupCode write_group(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<std::pair<ValueId, Bound>>& operands,
                      const std::vector<GroupResult>& results, Kernel& kernel,
                      const MakePartial& make_partial) {
  std::vector<ValueId> stored;
  for (const GroupResult& r : results) stored.push_back(r.value);
  Result<GroupPlan> plan = GroupPlan::make(graph, nodes, stored);
  if (!plan.ok()) throw_failure(plan.failure());
  GroupWriter writer(graph, nodes, *std::move(plan), results, kernel, make_partial);
  writer.outside_ = operands;
  return writer.write(operands);
}

}  // namespace cleave
