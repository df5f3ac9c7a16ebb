// Any bytes are a safetensors file or an error. A file that is accepted can be read to its last
// byte.
//   make fuzz-build && build/fuzz/bin/fuzz_safetensors -max_len=4096 -max_total_time=120 CORPUS \
//     test/fuzz/safetensors
#include "import/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = cleave::SafetensorsFile::from_bytes({bytes.begin(), bytes.end()});
  if (!file.ok()) return file.failure().message.empty() ? -1 : 0;
  size_t covered = 0;
  unsigned sum = 0;
  for (const cleave::TensorEntry& entry : file->entries()) {
    int64_t elements = 1;
    for (const int64_t dim : entry.shape) elements *= dim;
    if (static_cast<size_t>(elements * size_of(entry.dtype)) != entry.data.size()) __builtin_trap();
    if (file->find(entry.name) != &entry) __builtin_trap();
    for (const std::byte b : entry.data) sum += std::to_integer<unsigned>(b);
    covered += entry.data.size();
  }
  if (covered > size) __builtin_trap();
  volatile unsigned keep = sum;
  (void)keep;
  return 0;
}
