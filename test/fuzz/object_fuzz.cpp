// Any bytes are an object file, which is loaded and not run, or an error.
#include "runtime/elf_object.h"
#include "test/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto code = runtime::load_elf_object(bytes, runtime::external_symbols());
  if (!code.ok()) return code.failure().message.empty() ? -1 : 0;
  (*code)->symbol("f");
  return 0;
}
