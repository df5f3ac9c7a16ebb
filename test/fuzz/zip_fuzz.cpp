// Any bytes are an archive or an error. The entries of an archive can be found and unpacked, or an
// error says why not; all of them together have at most what zip_archive.h allows.
#include "import/zip_archive.h"
#include "test/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const auto packing : {ZipArchive::Packing::any, ZipArchive::Packing::stored}) {
    const auto zip = ZipArchive::from_bytes({bytes.begin(), bytes.end()}, "z", packing);
    if (!zip.ok()) {
      fuzz::expect_clear(zip.failure());
      continue;
    }
    uint64_t all = 0;
    for (const ZipArchive::Entry& e : zip->entries()) {
      if (zip->find(e.name) != &e) fuzz::found("an entry that isn't found", e.name);
      all += e.bytes;
      const auto unpacked = zip->read(e);
      if (!unpacked.ok())
        fuzz::expect_clear(unpacked.failure());
      else if (unpacked->size() != e.bytes)
        fuzz::found("an entry of another size", e.name);
    }
    if (all > 64 * (size + (1 << 14))) fuzz::found("entries that are too large");
  }
  return 0;
}
