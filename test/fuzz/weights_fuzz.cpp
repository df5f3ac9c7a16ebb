// The reader of weights of programs that are built ahead of time, beside that of the library: any
// bytes are a .safetensors file or an error, and what the small reader takes the large one takes,
// with the same tensors.
#include <cstring>

#include "import/safetensors.h"
#include "standalone/weight_file.h"
#include "test/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const fuzz::MemoryFile file(fuzz::text_of(data, size));
  const auto read = standalone::WeightFile::open(file.path());
  if (!read.ok()) return read.failure().message.empty() ? -1 : 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto whole = SafetensorsFile::from_bytes({bytes.begin(), bytes.end()});
  if (!whole.ok()) fuzz::found("a file that the library refuses", whole.failure().message);
  if (whole->entries().size() != read->tensors().size()) fuzz::found("another number of tensors");
  for (const auto& [name, t] : read->tensors()) {
    const TensorEntry* e = whole->find(name);
    if (e == nullptr || e->dtype != t.dtype || e->shape != t.shape ||
        e->data.size() != t.data.size() ||
        (!e->data.empty() && std::memcmp(e->data.data(), t.data.data(), e->data.size()) != 0))
      fuzz::found("another tensor", name);
  }
  return 0;
}
