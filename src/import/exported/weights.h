// Tensors of a .pt2 file: bytes of its storages, read by the types that its lists give.
#pragma once
#include <map>
#include <string>

#include "cleave/host_tensor.h"
#include "import/exported/archive.h"

namespace cleave::exported {

// A small file may hold tensors of so many bytes; a larger one, so many times its own.
constexpr int64_t few_bytes = 1 << 20, most_repeated = 64;

// Names that are one tensor in memory: of the same storage, with the same type, strides and offset.
// The representative of each name; names alone stand for themselves.
std::map<std::string, std::string> ties_of(const Payloads& tensors);
// Whether two tensors that are no tie have bytes in common.
bool overlap(const Payload& a, const Payload& b);

// The tensor, row-major. Errors (user): sizes, strides or an offset that are negative or reach
// beyond the storage, elements that repeat more than
// most_repeated times.
Result<HostTensor> read_tensor(const ZipArchive& model, const Payload& payload);

}  // namespace cleave::exported
