#include "compile/program_entry.h"

#include "run/archive_program.h"

namespace cleave {

// Without loop nests.
template <class A>
void archive(A& a, Is<PlannedProgram> auto& p) {
  auto& [lowered, offsets, arena_bytes, bound] = p;
  a(lowered.thunk_program(), offsets, arena_bytes, bound);
}

template <class A>
void archive(A& a, Is<EmittedKernel> auto& k) {
  auto& [unit, phases, checks, work] = k;
  a(unit, phases, checks, work);
}

template <class A>
void archive(A& a, Is<KeptCode> auto& c) {
  auto& [kernels, loops] = c;
  a(kernels, loops);
}

template <class A>
void archive(A& a, Is<KernelTraffic> auto& t) {
  auto& [name, kind, read, written, flops] = t;
  a(name, kind, read, written, flops);
}

template <class A>
void archive(A& a, Is<RuleCount> auto& c) {
  auto& [rule, matches, nodes, refused, ms] = c;
  a(rule, matches, nodes, refused);
}

template <class A>
void archive(A& a, Is<CompilePass> auto& p) {
  auto& [name, matches, nodes, ms, rules] = p;
  a(name, matches, nodes, rules);
}

template <class A>
void archive(A& a, Is<FrozenReport::Part> auto& p) {
  auto& [count, bytes] = p;
  a(count, bytes);
}

template <class A>
void archive(A& a, Is<FrozenReport> auto& r) {
  auto& [folded, packed, kept, dropped] = r;
  a(folded, packed, kept, dropped);
}

template <class A>
void archive(A& a, Is<ProgramEntry> auto& e) {
  auto& [planned, unit_keys, code, traffic, graph, known_lines, lines, passes, recompute_ns,
         distinct_kernels, frozen_report, frozen] = e;
  a(planned, unit_keys, code, traffic, graph, known_lines, lines, passes, recompute_ns,
    distinct_kernels, frozen_report, frozen);
}

KeptCode KeptCode::of(const PlacedProgram& placed) {
  KeptCode out{.kernels = placed.code.kernels, .loops = {}};
  if (out.kernels.empty())
    for (const loop::Kernel& k : placed.planned.lowered.kernels) out.loops.push_back(print(k));
  return out;
}

std::string ProgramEntry::bytes() const {
  ArchiveWriter out;
  out(*this);
  return out.bytes();
}

Result<ProgramEntry> ProgramEntry::parse(std::span<const std::byte> bytes) {
  ArchiveReader in(bytes);
  ProgramEntry out;
  in(out);
  if (!in.is_complete()) return bug("kept program: its entry is not one of this version");
  return out;
}

}  // namespace cleave
