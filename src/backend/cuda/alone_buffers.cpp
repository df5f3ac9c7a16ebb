#include "backend/cuda/alone_buffers.h"

namespace cleave::cuda {
namespace {

bool is_pair(const KernelCall& call, size_t a, size_t b) {
  if (a == b) return true;
  for (const InPlace& pair : call.in_place)
    if ((pair.operand == a && pair.result == b) || (pair.operand == b && pair.result == a))
      return true;
  return false;
}

}  // namespace

std::vector<std::vector<bool>> alone_buffers(const LoweredProgram& program) {
  std::vector<std::vector<bool>> out;
  for (const loop::Kernel& k : program.kernels) out.emplace_back(k.buffers.size());
  std::vector<bool> is_called(program.kernels.size());
  for (const Thunk& thunk : program.thunks) {
    const auto* call = std::get_if<KernelCall>(&thunk.work);
    if (!call) continue;
    const std::vector<loop::Buffer>& buffers = program.kernels[call->kernel].buffers;
    std::vector<bool>& alone = out[call->kernel];
    if (!is_called[call->kernel])
      for (size_t b = 0; b < buffers.size(); ++b)
        alone[b] =
            buffers[b].access == loop::Access::read || buffers[b].access == loop::Access::write;
    is_called[call->kernel] = true;
    for (size_t a = 0; a < call->storages.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        const bool writes =
            buffers[a].access != loop::Access::read || buffers[b].access != loop::Access::read;
        if (writes && is_pair(*call, call->storages[a], call->storages[b]))
          alone[a] = alone[b] = false;
      }
  }
  return out;
}

}  // namespace cleave::cuda
