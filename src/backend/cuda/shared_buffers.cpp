#include "backend/cuda/shared_buffers.h"

#include <algorithm>

namespace cleave::cuda {
namespace {

// A placeholder's memory is the caller's: another storage never lies in it.
bool may_be_one_place(const LoweredProgram& program, const KernelCall& call, size_t a, size_t b) {
  if (a == b) return true;
  if (program.storages[a].placeholder >= 0 || program.storages[b].placeholder >= 0) return false;
  return std::ranges::any_of(call.in_place, [&](const InPlace& pair) {
    return (pair.operand == a && pair.result == b) || (pair.operand == b && pair.result == a);
  });
}

}  // namespace

std::vector<SharedBuffers> shared_buffers(const LoweredProgram& program) {
  std::vector<SharedBuffers> out(program.kernels.size());
  for (const Thunk& thunk : program.thunks) {
    const auto* call = std::get_if<KernelCall>(&thunk.work);
    if (!call) continue;
    const std::vector<loop::Buffer>& buffers = program.kernels[call->kernel].buffers;
    std::optional<simt::BufferPairs>& pairs = out[call->kernel].pairs;
    if (!pairs) pairs.emplace();
    for (size_t a = 0; a < call->storages.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        const bool writes =
            buffers[a].access != loop::Access::read || buffers[b].access != loop::Access::read;
        if (writes && may_be_one_place(program, *call, call->storages[a], call->storages[b]))
          pairs->emplace_back(b, a);
      }
  }
  for (size_t k = 0; k < out.size(); ++k) {
    const std::vector<loop::Buffer>& buffers = program.kernels[k].buffers;
    SharedBuffers& made = out[k];
    made.alone.resize(buffers.size());
    if (!made.pairs) continue;
    std::ranges::sort(*made.pairs);
    const auto rest = std::ranges::unique(*made.pairs);
    made.pairs->erase(rest.begin(), rest.end());
    for (size_t b = 0; b < buffers.size(); ++b)
      made.alone[b] =
          buffers[b].access == loop::Access::read || buffers[b].access == loop::Access::write;
    for (const auto& [a, b] : *made.pairs) made.alone[a] = made.alone[b] = false;
  }
  return out;
}

}  // namespace cleave::cuda
