// Which accesses of a chunk's elements are made at once: of neighbours in memory, by each element
// and whatever it holds.
#include <algorithm>
#include <unordered_set>

#include "loop/replace.h"
#include "loop/shared_parts.h"
#include "simt/phase_writer.h"

namespace cleave::simt {

using loop::for_each_part;
using loop::has_variable;
using loop::Op;
using loop::replaced;
using loop::VariableValues;

namespace {

struct Use {
  int64_t buffer = 0;
  Expr index;
  bool is_write = false, is_certain = false;  // certain: made by each element
};

// The uses of buffers in a chunk's statements, in order.
class Uses {
 public:
  std::vector<Use> list;
  VariableValues lets;                 // those that read no memory
  std::unordered_set<int64_t> inside;  // all variables of the statements

  void block(const loop::Block& b, size_t from, bool is_certain) {
    for (size_t k = from; k < b.size(); ++k) stmt(b[k], is_certain);
  }
  void values(const Exprs& roots, bool is_certain) {
    const loop::SharedParts parts(roots);
    for (const Expr& root : roots)
      for_each_part(root, [&](const Expr& e) {
        if (e->op == Op::load)
          list.push_back({e->buffer(), e->args[0], false,
                          is_certain && parts.is_always_reached(e) && !is_checked(e->args[0])});
      });
  }

 private:
  // Not what a load's index depends on: it is the loaded number that is looked at.
  void add_checked(const Expr& e) {
    if (e->op == Op::var) checked_.insert(e->id());
    if (e->op != Op::load)
      for (const Expr& part : e->args) add_checked(part);
  }
  // A check before decides whether such an element is read: the index depends on what it looks at.
  bool is_checked(const Expr& index) const {
    bool is = false;
    if (!checked_.empty())
      for_each_part(replaced(index, lets), [&](const Expr& part) {
        is |= part->op == Op::var && checked_.contains(part->id());
      });
    return is;
  }

  void stmt(const loop::Stmt& s, bool is_certain) {
    if (auto* l = std::get_if<loop::Let>(&s.node)) {
      inside.insert(l->var->id());
      values({l->value}, is_certain);
      if (is_certain && !l->value->reads_memory) lets[l->var->id()] = replaced(l->value, lets);
    } else if (auto* d = std::get_if<loop::Define>(&s.node)) {
      inside.insert(d->var->id());
      values({d->value}, is_certain);
    } else if (auto* a = std::get_if<loop::Assign>(&s.node)) {
      values({a->value}, is_certain);
    } else if (auto* st = std::get_if<loop::Store>(&s.node)) {
      values({st->index, st->value}, is_certain);
      list.push_back({st->buffer, st->index, true, is_certain});
    } else if (auto* c = std::get_if<loop::Check>(&s.node)) {
      values({c->condition, c->value, c->bound}, is_certain);
      add_checked(replaced(c->condition, lets));
    } else if (auto* i = std::get_if<loop::If>(&s.node)) {
      values({i->condition}, is_certain);
      block(i->then, 0, false);
    } else if (auto* f = std::get_if<loop::For>(&s.node)) {
      inside.insert(f->loop.var->id());
      values({f->loop.extent}, is_certain);
      block(f->body, 0, false);
    } else if (auto* r = std::get_if<loop::Reduce>(&s.node)) {
      for (const loop::Loop& l : r->loops) inside.insert(l.var->id());
      block(r->body, 0, false);
      for (const loop::Fold& f : r->folds) {
        inside.insert(f.var->id());
        values({f.value}, false);
      }
    }
  }

  std::unordered_set<int64_t> checked_;  // variables in the conditions of checks so far
};

}  // namespace

const PhaseWriter::Kept* PhaseWriter::kept_as(const Kept& kept) const {
  const auto known = std::ranges::find_if(kept_, [&](const Kept& k) {
    return k.buffer == kept.buffer && k.index == kept.index && k.elements == kept.elements &&
           k.chunk == kept.chunk &&
           (k.is_row || (k.repeats == kept.repeats && k.slot == kept.slot));
  });
  return known == kept_.end() ? nullptr : &*known;
}

std::vector<PhaseWriter::Wide> PhaseWriter::find_wide(const Elements& elements, const Expr& from) {
  Uses uses;
  uses.block(*elements.body, 0, true);
  if (elements.folds) {
    Exprs values;
    for (const loop::Fold& f : *elements.folds) values.push_back(f.value);
    uses.values(values, true);
  }
  const Expr& var = elements.loops.back().var;
  const VariableValues& lets = uses.lets;
  affines_.set_loop(var);
  const auto is_neighbours = [&](const Use& u) {
    if (locals_.contains(u.buffer) || u.index->reads_memory) return false;
    const Expr at = replaced(u.index, lets);
    bool is_known = true;  // before the elements
    for_each_part(at, [&](const Expr& part) {
      if (part->op == Op::var && uses.inside.contains(part->id())) is_known = false;
    });
    const auto steps = affines_.of(at);
    return is_known && steps && steps->factor == 1 && steps->divisor % elements.chunk == 0;
  };
  // Read in a branch of a select where another buffer, of no more elements, is read in any case.
  const auto is_within = [&](const Use& u) {
    const auto size = [&](const Use& of) {
      return from_.buffers[static_cast<size_t>(of.buffer)].elements;
    };
    return !u.is_write && std::ranges::any_of(uses.list, [&](const Use& o) {
      return o.is_certain && o.index == u.index && size(o) <= size(u);
    });
  };
  // The index of the chunk's first element, for each repeat.
  const auto first_indices = [&](const Expr& at) {
    Exprs indices;
    for (int64_t r = 0; r < elements.repeats; ++r) {
      VariableValues values = {{var->id(), from + Expr(r * elements.stride)}};
      if (elements.row.defined()) values[elements.row->id()] = elements.first_row + Expr(r);
      indices.push_back(replaced(at, values));
    }
    return indices;
  };
  // Or of which ranges say that it is there, whatever the branch.
  const auto is_there = [&](const Use& u) {
    const int64_t n = from_.buffers[static_cast<size_t>(u.buffer)].elements;
    return !u.is_write && std::ranges::all_of(first_indices(replaced(u.index, lets)), [&](auto& i) {
      const auto range = ranges_.of(i);
      return range && range->low >= 0 && range->high + elements.chunk <= n;
    });
  };
  std::vector<Wide> out;
  for (const Use& u : uses.list) {
    const auto known = std::ranges::find_if(
        out, [&](const Wide& w) { return w.buffer == u.buffer && w.index == u.index; });
    if (known != out.end()) {
      known->is_written |= u.is_write;
      continue;
    }
    if (!is_neighbours(u) || !(u.is_certain || is_within(u) || is_there(u))) continue;
    // What is written is accessed nowhere else.
    const bool is_stored = std::ranges::any_of(
        uses.list, [&](const Use& o) { return o.buffer == u.buffer && o.is_write; });
    if (is_stored && !std::ranges::all_of(uses.list, [&](const Use& o) {
          return o.buffer != u.buffer || (o.index == u.index && o.is_certain);
        }))
      continue;
    const loop::Buffer& b = from_.buffers[static_cast<size_t>(u.buffer)];
    const Expr at = replaced(u.index, lets);
    out.push_back({0, u.buffer, u.index, first_indices(at), !u.is_write, u.is_write});
    out.back().by_element = replaced(at, VariableValues{{var->id(), shared_variable()}});
    const int64_t* count = elements.count.as_const_int();
    const auto writes = written_.find(u.buffer);
    if (team_ > 1 && count && elements.loops.size() == 1 && !in_columns_ &&
        (writes == written_.end() || writes->second == 1)) {
      Kept kept{u.buffer, out.back().by_element, *count, elements.chunk, elements.repeats, slot_};
      if (const Kept* known = kept_as(kept); known && known->is_row) {
        Wide& w = out.back();
        w.row = known->local;
        for (int64_t r = 0; r < elements.repeats; ++r)
          w.first_indices[static_cast<size_t>(r)] = from + Expr(r * elements.stride);
        w.local = add_buffer(b.name, b.dtype, elements.chunk * elements.repeats, Space::thread);
        continue;
      } else if (known) {
        out.back().local = known->local;
        if (!is_stored) out.back().is_read = false;
        continue;
      }
      kept.local = out.back().local =
          add_buffer(b.name, b.dtype, elements.chunk * elements.repeats, Space::thread);
      const int64_t at_once =
          elements.chunk * elements.repeats * sharers(elements.loops, elements.chunk);
      const bool is_whole =
          keeps_ || *count == at_once || (elements.repeats == 1 && *count <= at_once);
      // What is written later is no longer what was read before.
      out.back().is_kept = is_whole && !is_stored && writes == written_.end();
      if (out.back().is_kept || (is_whole && is_stored && read_again_.contains(u.buffer)))
        kept_.push_back(std::move(kept));
      continue;
    }
    out.back().is_of_all = elements.row.defined() && !is_stored && !has_variable(at, elements.row);
    out.back().local =
        add_buffer(b.name, b.dtype, elements.chunk * (out.back().is_of_all ? 1 : elements.repeats),
                   Space::thread);
  }
  affines_.set_loop({});
  return out;
}

}  // namespace cleave::simt
