#include "compile/program_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "loop/lower_rule.h"
#include "lower/place.h"
#include "lower/thunk_uses.h"

namespace cleave {
namespace {

class Collector {
 public:
  Collector(const Graph& graph, const LoweredProgram& program)
      : graph_(graph), p_(program), first_(p_.storages.size(), none), last_(first_) {}

  ProgramCalls run() {
    for (size_t i = 0; i < p_.thunks.size(); ++i)
      for (const size_t s : storages_of(p_.thunks[i])) {
        if (first_[s] == none) first_[s] = i;
        last_[s] = i;
      }
    for (const Storage& s : p_.storages) {
      ProgramCalls::Storage& out = out_.storages.emplace_back();
      out.bytes = s.placeholder >= 0 ? 0 : s.bytes;
      out.placeholder = s.placeholder >= 0;
      if (out.placeholder) out_.placeholder_bytes += rounded(s.bytes);
    }
    for (const size_t s : p_.returns) out_.storages[s].kept = p_.storages[s].placeholder < 0;
    add_parts();
    for (size_t i = 0; i < p_.thunks.size();) {
      size_t end = i;
      while (end < p_.thunks.size() && p_.thunks[end].node == p_.thunks[i].node) ++end;
      if (p_.thunks[i].node.valid())
        add_call(i, end);
      else
        add_copies(i, end);
      i = end;
    }
    for (size_t s = 0; s < parts_.size(); ++s)
      for (const Part& part : parts_[s]) {
        out_.storages[part.id].kept = out_.storages[s].kept;
        out_.storages[part.id].update = out_.storages[s].update;
      }
    for (size_t c = 0; c < out_.calls.size(); ++c) set_at_least(c);
    find_readers();
    for (size_t c = 0; c < out_.calls.size(); ++c) set_over(c);
    add_unread_operands();
    return std::move(out_);
  }

 private:
  static constexpr size_t none = ~size_t{0};

  struct Part {
    NodeId maker;
    size_t id;  // in out_.storages
  };

  // A storage that several calls write is replaced by one storage for each of its parts.
  void add_parts() {
    std::vector<NodeId> writer(p_.storages.size());
    parts_.resize(p_.storages.size());
    std::vector<bool> several(p_.storages.size());
    for (const Thunk& thunk : p_.thunks)
      for (const size_t s : storages_of(thunk)) {
        if (p_.storages[s].parts.empty() || !writes(p_, thunk, s)) continue;
        several[s] = several[s] || (writer[s].valid() && writer[s] != thunk.node);
        writer[s] = thunk.node;
      }
    for (size_t s = 0; s < several.size(); ++s) {
      if (!several[s]) continue;
      for (const Storage::Part& part : p_.storages[s].parts) {
        parts_[s].push_back({graph_.value(part.value).def, out_.storages.size()});
        ProgramCalls::Storage& out = out_.storages.emplace_back();
        out.bytes = part.bytes;
        out.value = part.value;
        out.part = true;
        out.optional = is_optional(part.value);
      }
    }
    is_made_.resize(out_.storages.size());
  }
  bool has_parts(size_t s) const { return !parts_[s].empty(); }

  // Of a storage with parts a call makes its own and reads the others. A call that makes a part
  // itself reads others only if it is a join, and only those made before it.
  void add_parts_of(size_t s, ProgramCalls::Call& call) const {
    const auto is_own = [&](const Part& part) { return part.maker == call.node; };
    const bool makes = std::ranges::any_of(parts_[s], is_own);
    const bool joins = is_join(graph_.view(call.node));
    for (const Part& part : parts_[s]) {
      const auto id = static_cast<int32_t>(part.id);
      if (is_own(part))
        call.makes.push_back(id);
      else if (!makes || (joins && is_made_[part.id]))
        call.reads.push_back(id);
    }
  }

  void add_call(size_t begin, size_t end) {
    ProgramCalls::Call call;
    call.node = p_.thunks[begin].node;
    std::vector<size_t> own;
    std::vector<int32_t> seen;
    for (size_t i = begin; i < end; ++i) {
      call.may_fail |= p_.thunks[i].may_fail;
      for (const size_t s : storages_of(p_.thunks[i])) {
        const auto id = static_cast<int32_t>(s);
        const bool written = writes(p_, p_.thunks[i], s);
        if (out_.storages[s].placeholder && written &&
            std::ranges::find(call.updates, id) == call.updates.end())
          call.updates.push_back(id);
        if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
        seen.push_back(id);
        if (has_parts(s)) {
          add_parts_of(s, call);
          continue;
        }
        if (first_[s] < begin || out_.storages[s].placeholder) {
          if (!(out_.storages[s].placeholder && written)) call.reads.push_back(id);
        } else if (last_[s] >= end || out_.storages[s].kept) {
          out_.storages[s].value = result_named(call.node, p_.storages[s].name);
          out_.storages[s].optional = is_optional(out_.storages[s].value);
          call.makes.push_back(id);
        } else {
          own.push_back(s);
        }
      }
    }
    call.workspace = max_alive(begin, end, own);
    for (const int32_t m : call.makes) is_made_[static_cast<size_t>(m)] = true;
    out_.calls.push_back(std::move(call));
    thunks_.emplace_back(begin, end);
  }

  // A lower bound of the memory of a call: the largest sum, over its thunks, of the bytes that they
  // read (from the call's begin to the last read) and write. Not counted are
  //
  //   placeholders, and updates, which may be written in place
  //   a result in the thunk that may write it over an operand
  //   a result that is part of another storage: on its own it might lie over an operand
  //   the operands of a join, which may be parts of its result
  //
  // With several results only the largest single storage counts: a program may make each of them by
  // a call of its own, which reads only what that result needs and may write it over an operand.
  //
  // A program that makes an operand for this call alone may choose another layout for it. Then a
  // library call may read a placeholder without its conversion and need another workspace, and a
  // view that copies may not have to; so conversions, such workspaces, and the operands of such a
  // view are not counted either.
  void set_at_least(size_t c) {
    const auto [begin, end] = thunks_[c];
    const bool joins = is_join(graph_.view(out_.calls[c].node));
    const bool copies_view = has_rule<loop::ViewRule>(out_.calls[c]);
    const bool is_library_call = has_rule<loop::LibraryRule>(out_.calls[c]);
    const bool reads_made = std::ranges::any_of(out_.calls[c].reads, [&](int32_t s) {
      return !out_.storages[static_cast<size_t>(s)].placeholder;
    });
    const auto counts = [&](size_t i, size_t s) {
      if (out_.storages[s].placeholder || out_.storages[s].update) return false;
      if (is_library_call && (is_conversion(s) || (reads_made && is_within(s, begin, end))))
        return false;
      if (writes(p_, p_.thunks[i], s)) return joins || p_.storages[s].parts.empty();
      return !joins && !copies_view;
    };
    std::map<size_t, std::pair<size_t, size_t>> alive;  // by storage: first and last thunk here
    for (size_t i = begin; i < end; ++i)
      for (const size_t s : storages_of(p_.thunks[i]))
        if (counts(i, s)) alive.emplace(s, std::pair{i, i}).first->second.second = i;
    int64_t& least = out_.calls[c].at_least;
    if (out_.calls[c].makes.size() > 1) {
      for (const auto& [s, thunks] : alive)
        if (first_[s] < begin || last_[s] >= end || out_.storages[s].kept)
          least = std::max(least, rounded(p_.storages[s].bytes));
      return;
    }
    for (auto it = alive.begin(); it != alive.end();) {
      auto& [s, thunks] = *it;
      const bool is_over = first_[s] >= begin && may_lie_over_operand(p_.thunks[thunks.first], s);
      it = is_over && ++thunks.first > thunks.second ? alive.erase(it) : std::next(it);
    }
    std::vector<int64_t> change(end - begin + 1);
    for (const auto& [s, thunks] : alive) {
      const int64_t bytes = rounded(p_.storages[s].bytes);
      const bool read = first_[s] < begin;
      change[read ? 0 : thunks.first - begin] += bytes;
      change[thunks.second - begin + 1] -= bytes;
    }
    int64_t now = 0;
    for (size_t i = 0; i + begin < end; ++i) least = std::max(least, now += change[i]);
  }

  void find_readers() {
    makers_.assign(out_.storages.size(), none), readers_.resize(out_.storages.size());
    for (size_t c = 0; c < out_.calls.size(); ++c) {
      for (const int32_t s : out_.calls[c].makes) makers_[static_cast<size_t>(s)] = c;
      for (const int32_t s : out_.calls[c].reads) readers_[static_cast<size_t>(s)].push_back(c);
    }
  }
  // Whether the call comes after all others that read the storage in every order, because it reads
  // what they make.
  bool reads_last(size_t c, size_t storage) const {
    return std::ranges::all_of(readers_[storage], [&](size_t other) {
      return other == c || std::ranges::any_of(out_.calls[c].reads, [&](int32_t s) {
               return makers_[static_cast<size_t>(s)] == other;
             });
    });
  }
  // The largest result of a call of one kernel that lowering makes over an operand (reuse_dead.h).
  void set_over(size_t c) {
    const auto [begin, end] = thunks_[c];
    const auto* call = end == begin + 1 ? std::get_if<KernelCall>(&p_.thunks[begin].work) : nullptr;
    if (!call) return;
    ProgramCalls::Call& out = out_.calls[c];
    for (const auto& [operand, result] : call->in_place) {
      const ProgramCalls::Storage &from = out_.storages[operand], &to = out_.storages[result];
      const bool is_made = std::ranges::count(out.makes, static_cast<int32_t>(result)) > 0;
      if (!is_made || from.placeholder || from.kept || has_parts(operand) || has_parts(result) ||
          rounded(from.bytes) != rounded(to.bytes) || !reads_last(c, operand))
        continue;
      out.over = std::max(out.over, rounded(to.bytes));
    }
  }

  template <class Rule>
  bool has_rule(const ProgramCalls::Call& call) const {
    const auto& rule = graph_.node(call.node).op->lower;
    return rule.present() && std::holds_alternative<Rule>((*rule)->form);
  }
  // Whether the storage is a conversion of a placeholder, maybe read through views; parts are not.
  bool is_conversion(size_t s) const {
    if (s >= first_.size() || first_[s] == none || out_.storages[s].placeholder) return false;
    const Thunk& maker = p_.thunks[first_[s]];
    return maker.node.valid() && graph_.node(maker.node).op->name == "_to_copy" &&
           std::ranges::all_of(storages_of(maker), [&](size_t used) {
             return used == s || out_.storages[used].placeholder;
           });
  }
  bool is_within(size_t s, size_t begin, size_t end) const {
    return first_[s] >= begin && last_[s] < end && !out_.storages[s].kept;
  }

  bool may_lie_over_operand(const Thunk& thunk, size_t result) const {
    auto* call = std::get_if<KernelCall>(&thunk.work);
    return call && std::ranges::any_of(call->in_place, [&](const InPlace& pair) {
             return pair.result == result && p_.storages[pair.operand].placeholder < 0 &&
                    rounded(p_.storages[pair.operand].bytes) == rounded(p_.storages[result].bytes);
           });
  }

  // Whether lowering leaves the value out if nothing reads it: not if a loop carries it, a foreign
  // call writes it, or a library call requires it.
  bool is_optional(ValueId v) const {
    if (!v.valid()) return false;
    const NodeId n = graph_.value(v).def;
    const auto& lower = graph_.node(n).op->lower;
    if (!lower.present()) return true;
    const loop::LowerRule& rule = **lower;
    if (std::holds_alternative<loop::LoopRule>(rule.form) ||
        std::holds_alternative<loop::ForeignRule>(rule.form))
      return false;
    const auto* library = std::get_if<loop::LibraryRule>(&rule.form);
    const auto form = library ? library->form(graph_.view(n)) : std::nullopt;
    return !form || std::ranges::none_of(form->operands, [&](const loop::LibraryOperand& o) {
      return o.access == loop::LibraryAccess::write && o.is_required &&
             graph_.node(n).out(static_cast<uint32_t>(o.index)) == v;
    });
  }

  ValueId result_named(NodeId n, const std::string& name) const {
    const ValueId v = graph_.find(name);
    return v.valid() && graph_.value(v).def == n ? v : ValueId{};
  }

  int64_t max_alive(size_t begin, size_t end, const std::vector<size_t>& own) const {
    int64_t most = 0;
    for (size_t i = begin; i < end && !own.empty(); ++i) {
      int64_t alive = 0;
      for (const size_t s : own)
        if (first_[s] <= i && i <= last_[s]) alive += rounded(p_.storages[s].bytes);
      most = std::max(most, alive);
    }
    return most;
  }

  // An operand may be in no storage that the call's thunks read: it is empty, for example, or lies
  // in a placeholder's memory. Its call must come first nevertheless, so it gets a storage of 0
  // bytes.
  void add_unread_operands() {
    std::vector<size_t> call_of(graph_.node_capacity(), none);
    for (size_t c = 0; c < out_.calls.size(); ++c) call_of[out_.calls[c].node.v] = c;
    std::map<ValueId, int32_t> made;
    const auto storage_for = [&](ValueId v, ProgramCalls::Call& maker) {
      const auto [it, is_new] = made.emplace(v, static_cast<int32_t>(out_.storages.size()));
      if (is_new) {
        out_.storages.emplace_back().value = v;
        maker.makes.push_back(it->second);
      }
      return it->second;
    };
    for (ProgramCalls::Call& call : out_.calls)
      for (const ValueId v : made_operands(graph_.node(call.node).inputs, call_of)) {
        ProgramCalls::Call& maker = out_.calls[call_of[graph_.value(v).def.v]];
        const bool is_after = std::ranges::any_of(call.reads, [&](int32_t s) {
          return std::ranges::find(maker.makes, s) != maker.makes.end();
        });
        if (!is_after && maker.updates.empty()) call.reads.push_back(storage_for(v, maker));
      }
    Values returned;
    for (const Return& r : graph_.returns()) returned.push_back(r.value);
    for (const ValueId v : made_operands(returned, call_of)) {
      ProgramCalls::Call& maker = out_.calls[call_of[graph_.value(v).def.v]];
      const bool is_kept = std::ranges::any_of(
          maker.makes, [&](int32_t s) { return out_.storages[static_cast<size_t>(s)].kept; });
      if (!is_kept && maker.updates.empty())
        out_.storages[static_cast<size_t>(storage_for(v, maker))].kept = true;
    }
  }

  // The values that calls make and `open` is made of, through nodes without thunks.
  Values made_operands(Values open, const std::vector<size_t>& call_of) const {
    Values found;
    std::set<ValueId> seen;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (!v.valid() || !graph_.value(v).def.valid() || !seen.insert(v).second) continue;
      const NodeId def = graph_.value(v).def;
      if (call_of[def.v] != none)
        found.push_back(v);
      else
        open.insert(open.end(), graph_.node(def).inputs.begin(), graph_.node(def).inputs.end());
    }
    return found;
  }

  // Copies of returned values, after all calls.
  void add_copies(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (const size_t s : storages_of(p_.thunks[i])) {
        if (first_[s] < begin && !out_.storages[s].placeholder) {
          out_.storages[s].update |= !out_.storages[s].kept;
          out_.storages[s].kept = true;
        }
        if (first_[s] >= begin && !out_.storages[s].placeholder)
          out_.copied_at_end += rounded(p_.storages[s].bytes);
      }
  }

  const Graph& graph_;
  const LoweredProgram& p_;
  std::vector<size_t> first_, last_;               // thunks, by storage
  std::vector<std::pair<size_t, size_t>> thunks_;  // of each call
  std::vector<std::vector<Part>> parts_;           // by storage
  std::vector<bool> is_made_;                      // by storage of out_
  std::vector<size_t> makers_;                     // calls, by storage of out_
  std::vector<std::vector<size_t>> readers_;       // the same
  ProgramCalls out_;
};

}  // namespace

ProgramCalls program_calls(const Graph& graph, const LoweredProgram& program) {
  return Collector(graph, program).run();
}

}  // namespace cleave
