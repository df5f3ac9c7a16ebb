#include "backend/cpu/emit_units.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "backend/pack_units.h"
#include "emit/c_source.h"
#include "loop/phase_extents.h"

namespace cleave::cpu {
namespace {

// Text bytes of a unit, which starts with a prelude; a program of less than min_bytes is one unit.
constexpr size_t unit_bytes = 20 << 10, min_bytes = 4 << 10;

EmittedCode make_units(std::vector<emit::CKernel> texts, const std::vector<loop::Kernel>& kernels) {
  std::vector<size_t> lengths;
  for (const emit::CKernel& kernel : texts) lengths.push_back(kernel.text.size());
  const size_t bytes = std::accumulate(lengths.begin(), lengths.end(), size_t{0});
  const size_t pairs = (bytes + 2 * unit_bytes - 1) / (2 * unit_bytes);
  std::vector<std::string> units;
  if (bytes > 0) units.resize(bytes < min_bytes ? 1 : 2 * pairs);
  const std::vector<size_t> unit_of = pack_units(lengths, units.size());
  std::unordered_map<std::string, size_t> unit_with;
  for (size_t k = 0; k < texts.size(); ++k) {
    if (texts[k].text.empty()) continue;
    units[unit_of[k]] += texts[k].text;
    unit_with[texts[k].phases[0].symbol] = unit_of[k];
  }
  EmittedCode out;
  for (size_t k = 0; k < texts.size(); ++k) {
    emit::CKernel& kernel = texts[k];
    out.kernels.push_back(
        {.unit = kernel.phases.empty() ? 0 : unit_with.at(kernel.phases[0].symbol),
         .phases = std::move(kernel.phases),
         .checks = std::move(kernel.checks),
         .work = kernels[k].work});
  }
  while (!units.empty() && units.back().empty()) units.pop_back();
  for (std::string& unit : units) {
    unit.insert(0, emit::c_prelude_for(unit));
    out.units.push_back({std::move(unit)});
  }
  return out;
}

// An entry for each kernel. Kernels that share a function have the symbols of the first, and no
// text.
std::vector<emit::CKernel> kernel_texts(const std::vector<loop::Kernel>& kernels,
                                        const schedule::SharedKernels& functions) {
  std::vector<emit::CKernel> texts;
  std::vector<std::optional<size_t>> first(functions.kernels.size());
  for (size_t k = 0; k < functions.uses.size(); ++k) {
    const size_t function = functions.uses[k].kernel;
    if (first[function]) {
      emit::CKernel shared = texts[*first[function]];
      shared.text.clear();
      const std::vector<int64_t> extents = loop::phase_extents(kernels[k]);
      for (size_t p = 0; p < extents.size(); ++p) shared.phases[p].extent = extents[p];
      texts.push_back(std::move(shared));
    } else {
      first[function] = k;
      texts.push_back(emit::emit_c(functions.kernels[function],
                                   fmt::format("k{}_{}", k, emit::c_identifier(kernels[k].name))));
    }
  }
  return texts;
}

}  // namespace

EmittedCode emit_kernels(const std::vector<loop::Kernel>& kernels,
                         const schedule::SharedKernels& functions) {
  return make_units(kernel_texts(kernels, functions), kernels);
}

void add_host_units(const LoweredProgram& program, EmittedCode& code) {
  for (const Thunk& s : program.thunks)
    if (auto* f = std::get_if<ForeignCall>(&s.work); f && !f->code.c_text.empty())
      code.units.push_back({.text = f->code.c_text,
                            .from = SourceUnit::From::host_program,
                            .host_symbol = f->code.symbol});
}

}  // namespace cleave::cpu
