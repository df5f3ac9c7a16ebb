#include "simt/merge_phases.h"

#include <algorithm>
#include <unordered_set>

#include "loop/replace.h"

namespace cleave::simt {

using loop::Op;

namespace {

constexpr int64_t most_blocks = 1 << 10;    // of a phase: a longer one gains nothing
constexpr int64_t shared_bytes = 48 << 10;  // of a launch

struct Uses {
  std::unordered_set<int64_t> reads, writes;  // buffers of any space

  void block(const Block& b) {
    for (const Stmt& s : b) std::visit([&](const auto& n) { of(n); }, s.node);
  }

 private:
  void values(const Expr& e) {
    loop::for_each_part(e, [&](const Expr& part) {
      if (part->op == Op::load) reads.insert(part->buffer());
    });
  }
  void of(const For& f) { values(f.begin), values(f.end), block(f.body); }
  void of(const If& i) { values(i.condition), block(i.then), block(i.otherwise); }
  void of(const Let& s) { values(s.value); }
  void of(const Define& s) { values(s.value); }
  void of(const Assign& s) { values(s.value); }
  void of(const Store& s) {
    values(s.index), values(s.value);
    writes.insert(s.buffer);
  }
  void of(const Check& c) { values(c.condition), values(c.value), values(c.bound); }
  void of(const Barrier&) {}
  void of(const Exchange& s) { values(s.value); }
  void of(const CopyIn& s) { values(s.index), reads.insert(s.from), writes.insert(s.to); }
  void of(const CopyOut& s) { values(s.index), reads.insert(s.from), writes.insert(s.to); }
  void of(const CopyAhead& s) {
    values(s.at), values(s.index), reads.insert(s.from), writes.insert(s.to);
  }
  void of(const CopyWait&) {}
};

// Phases that are one launch.
struct Run {
  std::vector<Phase> phases;
  Uses uses;
  int64_t shared = 0;
};

int64_t shared_of(const Kernel& k, const Uses& uses) {
  int64_t bytes = 0;
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    const auto at = static_cast<int64_t>(b);
    if (k.buffers[b].space == Space::shared &&
        (uses.reads.contains(at) || uses.writes.contains(at)))
      bytes += k.buffers[b].elements * size_of(k.buffers[b].dtype);
  }
  return bytes;
}

bool goes_with(const Run& run, const Phase& p, const Uses& uses, int64_t shared) {
  const Phase& first = run.phases[0];
  const auto meet = [](const auto& a, const auto& b) {
    return std::ranges::any_of(a, [&](int64_t x) { return b.contains(x); });
  };
  const bool is_part = p.part_of != 0 && p.part_of == first.part_of;
  return p.threads == first.threads && p.at_once == first.at_once && p.blocks > 0 &&
         first.blocks > 0 &&
         (is_part || (p.blocks <= most_blocks && first.blocks <= most_blocks)) &&
         p.block.type() == first.block.type() && p.thread.type() == first.thread.type() &&
         run.shared + shared <= shared_bytes && !meet(run.uses.writes, uses.writes) &&
         !meet(run.uses.writes, uses.reads) && !meet(run.uses.reads, uses.writes);
}

Phase merged(std::vector<Phase> phases) {
  Phase out = std::move(phases[0]);
  const Expr own = out.block;
  // Each block is of one phase.
  Block rest;
  int64_t first = out.blocks;
  std::vector<std::pair<int64_t, Block>> parts;
  for (size_t k = 1; k < phases.size(); ++k) {
    Phase& p = phases[k];
    Block body;
    body.push_back({Let{p.block, own - loop::constant_int(own.type(), first)}});
    body.push_back({Let{p.thread, out.thread}});
    body.insert(body.end(), std::make_move_iterator(p.body.begin()),
                std::make_move_iterator(p.body.end()));
    parts.emplace_back(first, std::move(body));
    first += p.blocks;
  }
  for (size_t k = parts.size(); k-- > 0;) {
    auto& [begin, body] = parts[k];
    if (rest.empty()) {
      rest = std::move(body);
      continue;
    }
    const Expr end = loop::constant_int(own.type(), parts[k + 1].first);
    If one{binary(Op::lt, own, end), std::move(body), std::move(rest)};
    rest = {};
    rest.push_back({std::move(one)});
  }
  If one{binary(Op::lt, own, loop::constant_int(own.type(), out.blocks)), std::move(out.body),
         std::move(rest)};
  out.body = {};
  out.body.push_back({std::move(one)});
  out.blocks = first;
  return out;
}

}  // namespace

void merge_phases(Kernel& kernel) {
  std::vector<Phase> out;
  Run run;
  const auto flush = [&] {
    if (run.phases.size() == 1)
      out.push_back(std::move(run.phases[0]));
    else if (!run.phases.empty())
      out.push_back(merged(std::move(run.phases)));
    run = {};
  };
  for (Phase& p : kernel.phases) {
    Uses uses;
    uses.block(p.body);
    const int64_t shared = shared_of(kernel, uses);
    if (!run.phases.empty() && !goes_with(run, p, uses, shared)) flush();
    run.phases.push_back(std::move(p));
    run.uses.reads.merge(uses.reads), run.uses.writes.merge(uses.writes);
    run.shared += shared;
  }
  flush();
  kernel.phases = std::move(out);
}

}  // namespace cleave::simt
