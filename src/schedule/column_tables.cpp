#include "schedule/column_tables.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/alignment.h"
#include "loop/replace.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

// Rows that share a table. A piece is one group of rows: few rows are cut for many threads.
constexpr int64_t rows_of_table = 16;
constexpr int64_t min_tables = 64;
// In operations of one element, by weight(): what is worth a load, and a table.
constexpr int64_t min_kept = 4;
constexpr int64_t min_saved = 16;

// Of an operation on vectors, beside an addition of f32: some are done lane by lane.
int64_t weight(const ExprNode& e) {
  if (e.op >= Op::exp && e.op <= Op::sigmoid && e.op != Op::sqrt) return 12;
  if (e.args.empty()) return 0;
  const DType t = e.type, from = e.args[0].type();
  if (e.op == Op::truncdiv || e.op == Op::truncmod || e.op == Op::floordiv || e.op == Op::floormod)
    return 16;
  const bool converts = is_floating(t) != is_floating(from);
  if (converts && (t == DType::i64 || from == DType::i64)) return 4;
  return t == DType::f64 ? 2 : 1;
}

int64_t weight_of(const Expr& e) {
  int64_t sum = 0;
  for_each_part(e, [&](const Expr& part) { sum += weight(*part); });
  return sum;
}

class ColumnTables {
 public:
  ColumnTables(Kernel& kernel, const For& rows, int64_t& variable)
      : kernel_(kernel), rows_(rows), variable_(variable) {}

  std::optional<For> split() {
    if (!has_form() || !read_columns()) return std::nullopt;
    choose();
    if (saved_ < min_saved || !fits()) return std::nullopt;
    return loops();
  }

 private:
  // A loop over rows whose last statement is a loop over columns, of lets and stores.
  bool has_form() {
    if (rows_.kind != ForKind::parallel || rows_.body.empty() || rows_.vectors.any()) return false;
    const int64_t* n = rows_.loop.extent.as_const_int();
    if (!n || *n < rows_of_table * min_tables) return false;
    for (const Stmt& s : rows_.body)
      if (&s != &rows_.body.back() && !std::holds_alternative<Let>(s.node)) return false;
    columns_ = std::get_if<For>(&rows_.body.back().node);
    return columns_ && columns_->kind == ForKind::independent &&
           columns_->loop.extent.as_const_int() &&
           std::ranges::all_of(columns_->body, [](const Stmt& s) {
             return std::holds_alternative<Let>(s.node) || std::holds_alternative<Store>(s.node);
           });
  }

  bool is_of_column(const Expr& e) const {
    bool varies = false, is_alone = !e->reads_memory;
    for_each_part(e, [&](const Expr& part) {
      if (part->op != Op::var) return;
      const bool inside = part == columns_->loop.var || of_column_.contains(part->id());
      varies = varies || inside;
      is_alone = is_alone && inside;
    });
    return varies && is_alone;
  }

  // Splits the statements, equal lets of the column being one. False: there are none.
  bool read_columns() {
    std::map<Expr, Expr> known;
    for (const Stmt& s : columns_->body) {
      if (const auto* store = std::get_if<Store>(&s.node)) {
        others_.push_back(
            {Store{store->buffer, replaced(store->index, same_), replaced(store->value, same_)}});
        continue;
      }
      const auto& let = std::get<Let>(s.node);
      const Expr value = replaced(let.value, same_);
      if (!is_of_column(value)) {
        others_.push_back({Let{let.var, value}});
        continue;
      }
      const auto [at, is_new] = known.try_emplace(value, let.var);
      if (!is_new) {
        same_[let.var->id()] = at->second;
        continue;
      }
      of_column_.insert(let.var->id());
      lets_.push_back({let.var, value});
    }
    return !lets_.empty();
  }

  // Which lets are kept, and which are computed again of those, being short.
  void choose() {
    std::unordered_set<int64_t> read;
    const auto reads = [&](const Expr& e) {
      for_each_part(e, [&](const Expr& part) {
        if (part->op == Op::var) read.insert(part->id());
      });
    };
    for (const Stmt& s : others_) {
      if (const auto* let = std::get_if<Let>(&s.node)) reads(let->value);
      if (const auto* store = std::get_if<Store>(&s.node)) reads(store->index), reads(store->value);
    }
    for (const Let& let : lets_) {
      const int64_t own = weight_of(let.value);
      if (own >= min_kept)
        saved_ += own;
      else
        reads(let.value);
      (own >= min_kept ? long_ : short_).push_back(let);
    }
    std::erase_if(long_, [&](const Let& let) { return !read.contains(let.var->id()); });
  }

  bool fits() const {
    const int64_t n = *columns_->loop.extent.as_const_int();
    return !long_.empty() &&
           local_bytes(kernel_) + rounded(n * 8) * std::ssize(long_) <= max_local_bytes;
  }

  For loops() {
    const int64_t count = *rows_.loop.extent.as_const_int();
    const int64_t groups = (count + rows_of_table - 1) / rows_of_table;
    const Expr group = make_var(variable_++, rows_.loop.var->name() + "_group", DType::i64);
    const Expr row = make_var(variable_++, "r", DType::i64);
    const Expr column = make_var(variable_++, columns_->loop.var->name(), DType::i64);
    For table{{column, columns_->loop.extent}, ForKind::independent, {}};
    VariableValues renamed{{columns_->loop.var->id(), column}};
    for (const Let& let : lets_) {
      const Expr var = make_var(variable_++, let.var->name(), let.var.type());
      table.body.push_back({Let{var, replaced(let.value, renamed)}});
      renamed[let.var->id()] = var;
    }
    For elements{columns_->loop, ForKind::independent, {}};
    for (const Let& let : long_) {
      const auto local = std::ssize(kernel_.buffers);
      const DType dtype = let.var.type();
      kernel_.buffers.push_back(
          {let.var->name(), dtype, *columns_->loop.extent.as_const_int(), Access::local});
      table.body.push_back({Store{local, column, renamed.at(let.var->id())}});
      elements.body.push_back({Let{let.var, load(local, dtype, columns_->loop.var)}});
    }
    for (const Let& let : short_) elements.body.push_back({let});
    std::ranges::move(others_, std::back_inserter(elements.body));

    const Expr first = group * Expr(rows_of_table);
    const Expr left = count % rows_of_table == 0
                          ? Expr(rows_of_table)
                          : binary(Op::min, Expr(count) - first, Expr(rows_of_table));
    For each_row{{row, left}, ForKind::serial, {{Let{rows_.loop.var, first + row}}}};
    each_row.body.insert(each_row.body.end(), rows_.body.begin(), rows_.body.end() - 1);
    each_row.body.push_back({std::move(elements)});
    return {{group, Expr(groups)}, ForKind::parallel, {{std::move(table)}, {std::move(each_row)}}};
  }

  Kernel& kernel_;
  const For& rows_;
  int64_t& variable_;
  const For* columns_ = nullptr;
  std::unordered_set<int64_t> of_column_;  // variables of lets_
  VariableValues same_;                    // lets that have an equal one before them
  std::vector<Let> lets_, long_, short_;   // of the column: all; those kept; those not
  Block others_;
  int64_t saved_ = 0;
};

}  // namespace

std::optional<For> with_column_tables(Kernel& kernel, const For& rows, int64_t& variable) {
  return ColumnTables(kernel, rows, variable).split();
}

}  // namespace cleave::schedule
