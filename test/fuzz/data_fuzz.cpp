// The files that examples come from: the first byte says which, the others are the file.
//   'c' a table, of its columns a and b; 'n' a .npy; 't', 'u', 'b' tokens of 4, 2 and 1 bytes
// Any file is a source whose examples can be read, or an error.
#include "cleave/data.h"
#include "cleave/error.h"
#include "test/fuzz/harness.h"

namespace cleave {
namespace {

constexpr int64_t most_bytes = 1 << 20;

data::SourcePtr open(char kind, const std::string& path) {
  switch (kind) {
    case 'c': return data::csv(path, {{{"a", "b"}, DType::f32}, {{"b"}, DType::i64}});
    case 'n': return data::npy({path});
    case 't': return data::tokens(path, {.stored = DType::i32, .context = 3, .stride = 2});
    case 'u': return data::tokens(path, {.is_u16 = true, .context = 5});
    default: return data::tokens(path, {.stored = DType::i8, .context = 1, .stride = 7});
  }
}

// The first examples, and the last one.
void read(const data::Source& source) {
  std::vector<std::vector<std::byte>> rooms;
  std::vector<void*> to;
  for (const TensorType& t : source.types()) {
    if (t.bytes() < 0) fuzz::found("a type of no size");
    if (t.bytes() > most_bytes) return;
    rooms.emplace_back(static_cast<size_t>(t.bytes()));
    to.push_back(rooms.back().data());
  }
  const int64_t n = source.size();
  for (int64_t k = 0; k < std::min<int64_t>(n, 8); ++k) source.read(k, to);
  if (n > 0) source.read(n - 1, to);
}

}  // namespace
}  // namespace cleave

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  if (size == 0) return 0;
  const fuzz::MemoryFile file(fuzz::text_of(data + 1, size - 1));
  try {
    read(*open(static_cast<char>(data[0]), file.path()));
  } catch (const Error& e) { fuzz::expect_clear(Failure{e.kind(), e.what()}); }
  return 0;
}
