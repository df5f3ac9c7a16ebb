#include "backend/cuda/emit_units.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "backend/pack_units.h"
#include "emit/c_source.h"
#include "loop/phase_extents.h"
#include "simt/cuda_prelude.h"
#include "simt/cuda_text.h"
#include "simt/map_threads.h"

namespace cleave::cuda {
namespace {

// The messages of the checks.
void add_checks(const loop::Block& block, std::vector<std::string>& to) {
  for (const loop::Stmt& s : block) {
    if (auto* f = std::get_if<loop::For>(&s.node)) add_checks(f->body, to);
    if (auto* r = std::get_if<loop::Reduce>(&s.node)) add_checks(r->body, to);
    if (auto* i = std::get_if<loop::If>(&s.node)) add_checks(i->then, to);
    if (auto* c = std::get_if<loop::Check>(&s.node)) to.push_back(c->message);
  }
}

// NVRTC's front end runs in one thread at a time, for 15 ms a unit (8 with -minimal) and 2 a
// kernel; the rest takes 40 ms a kernel, in all threads at once (a Xeon with 16 cores, CUDA 13.0,
// 2026-11). So n kernels are done soonest in about sqrt(40 / 8 * n) units.
size_t units_of(size_t kernels) {
  const auto units = static_cast<size_t>(std::sqrt(5.0 * static_cast<double>(kernels)));
  return std::min(units, kernels);
}

}  // namespace

EmittedCode emit_kernels(const std::vector<loop::Kernel>& kernels,
                         const schedule::SharedKernels& functions,
                         const std::vector<SharedBuffers>& shared) {
  // What makes two kernels one: the function, its numbers, its loops' extents, its checks,
  // which of its buffers may be in one place.
  using Key = std::tuple<size_t, std::vector<int64_t>, std::vector<int64_t>,
                         std::vector<std::string>, SharedBuffers>;
  std::vector<std::vector<std::string>> checks(kernels.size());
  for (size_t k = 0; k < kernels.size(); ++k) add_checks(kernels[k].body, checks[k]);
  const bool may_fail = std::ranges::any_of(checks, [](const auto& c) { return !c.empty(); });
  EmittedCode out;
  std::vector<std::string> texts;
  std::map<Key, size_t> first_with;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto& use = functions.uses[k];
    const auto [at, is_new] =
        first_with.try_emplace(Key(use.kernel, use.scalars, loop::phase_extents(kernels[k]),
                                   checks[k], shared.empty() ? SharedBuffers() : shared[k]),
                               k);
    if (!is_new) {
      EmittedKernel same = out.kernels[at->second];
      out.kernels.push_back(std::move(same));
      continue;
    }
    const std::string symbol = fmt::format("k{}_{}", k, emit::c_identifier(kernels[k].name));
    const SharedBuffers known = shared.empty() ? SharedBuffers() : shared[k];
    simt::Kernel threads = simt::map_threads(kernels[k], {}, known.pairs);
    for (size_t b = 0; b < known.alone.size(); ++b) threads.buffers[b].is_alone = known.alone[b];
    simt::CudaKernel text = simt::cuda_text(threads, symbol, may_fail);
    out.kernels.push_back({.unit = texts.size(),
                           .phases = std::move(text.phases),
                           .checks = std::move(text.checks),
                           .work = kernels[k].work});
    texts.push_back(std::move(text.text));
  }
  std::vector<size_t> lengths;
  for (const std::string& text : texts) lengths.push_back(text.size());
  const std::vector<size_t> unit_of = pack_units(lengths, units_of(texts.size()));
  out.units.resize(units_of(texts.size()));
  for (size_t t = 0; t < texts.size(); ++t) out.units[unit_of[t]].text += texts[t];
  for (SourceUnit& unit : out.units) {
    unit.text.insert(0, simt::cuda_prelude_for(unit.text));
    unit.language = "cu";
  }
  for (EmittedKernel& kernel : out.kernels) kernel.unit = unit_of[kernel.unit];
  return out;
}

}  // namespace cleave::cuda
