// Any bytes are a program that was kept, or none. One that is read is written as the same bytes.
#include "compile/program_entry.h"
#include "test/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto entry = ProgramEntry::parse(bytes);
  if (!entry.ok()) return entry.failure().message.empty() ? -1 : 0;
  const std::string again = entry->bytes();
  if (again != fuzz::text_of(data, size)) fuzz::found("other bytes");
  return 0;
}
