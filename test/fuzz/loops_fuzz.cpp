// Any bytes are kernels or an error. Kernels that are read pass verify, print, read back equal, and
// are compiled to bytecode. They aren't run: their indices may be anything.
//   make fuzz-build && build/fuzz/bin/fuzz_loops -dict=test/fuzz/loops.dict -max_total_time=300 \
//     CORPUS test/fuzz/loops
#include <cstdio>
#include <cstdlib>

#include "emit/bytecode.h"
#include "loop/difference.h"
#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave {
namespace {

[[noreturn]] void found(const char* what, const std::string& text) {
  std::fprintf(stderr, "FOUND %s\n%s\n", what, text.c_str());
  std::abort();
}

void check(const loop::Kernel& k) {
  const std::string text = loop::print(k);
  if (const Status s = loop::verify(k); !s.ok())
    found("a rule that parsing keeps", s.failure().message + "\n" + text);
  const auto again = loop::parse_kernel(text, "again");
  if (!again.ok()) found("print does not read back", again.failure().message + "\n" + text);
  if (const std::string d = loop::difference(k, *again); !d.empty())
    found("a difference", d + "\n" + text);
  if (loop::print(*again) != text) found("another print", text + "\n" + loop::print(*again));
  emit::emit_bytecode(schedule::schedule(k));
}

}  // namespace
}  // namespace cleave

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto kernels = loop::parse_kernels(text, "fuzz");
  if (!kernels.ok()) {
    const Failure& f = kernels.failure();
    if (f.kind == ErrorKind::bug || f.message.empty()) found("a bug's message", f.message);
    return 0;
  }
  for (const loop::Kernel& k : *kernels) check(k);
  return 0;
}
