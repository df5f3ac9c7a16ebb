// Any bytes are a program or refused. What is read and verifies prints, reads back equal, and stays
// well through dead code, common subexpressions and sorting. The operators are cleave's own and the
// toys of test/ir, so that inference is fuzzed too.
//   make fuzz-build && build/fuzz/bin/fuzz_clv -dict=test/fuzz/clv.dict -max_total_time=300 \
//     CORPUS test/fuzz/clv
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ir/edit.h"
#include "ir/text.h"
#include "test/ir/all_ops.h"

namespace cleave {
namespace {

[[noreturn]] void found(const char* what, const std::string& text) {
  std::fprintf(stderr, "FOUND %s\n%s\n", what, text.c_str());
  std::abort();
}

// Rules that parsing itself keeps.
bool kept_by_parsing(const std::string& message) {
  // The first rule named is the one; names in the text that follows may look like others.
  const size_t at = std::min(message.find(": V"), message.size());
  for (const char* rule : {": V2: ", ": V3: ", ": V4: ", ": V5: ", ": V12: "})
    if (message.compare(at, std::strlen(rule), rule) == 0) return true;
  return false;
}

void check_round_trip(const Program& p, const OpRegistry& ops) {
  const std::string text = print(p);
  const auto again = parse(text, "again", ops);
  if (!again.ok()) found("print does not read back", again.failure().message + "\n" + text);
  if (const std::string d = difference(p, *again); !d.empty())
    found("a difference", d + "\n" + text);
  if (print(*again) != text) found("another print", text + "\n" + print(*again));
  if (const Status s = verify(*again); !s.ok()) found("no longer verifies", s.failure().message);
  const std::string canonical = print(p, Naming::canonical);
  const auto renamed = parse(canonical, "canonical", ops);
  if (!renamed.ok()) found("canonical names do not read back", renamed.failure().message);
  if (print(*renamed, Naming::canonical) != canonical) found("canonical names move", canonical);
}

void check_edits(Program p, const OpRegistry& ops) {
  eliminate_common_subexpressions(p.main);
  if (eliminate_common_subexpressions(p.main) != 0) found("a second merge", print(p));
  eliminate_dead_code(p.main);
  if (eliminate_dead_code(p.main) != 0) found("a second removal", print(p));
  std::vector<NodeId> order = p.main.order();
  value_or_throw(p.main.reorder({order.rbegin(), order.rend()}));
  if (const Status s = sort_topologically(p.main); !s.ok()) found("a cycle", s.failure().message);
  if (const Status s = verify(p); !s.ok())
    found("edits break a rule", s.failure().message + "\n" + print(p));
  check_round_trip(p, ops);
}

}  // namespace
}  // namespace cleave

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  static const OpRegistry ops = all_ops();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto p = parse(text, "fuzz", ops);
  if (!p.ok()) {
    const Failure& f = p.failure();
    if (f.kind == ErrorKind::bug || f.message.empty()) found("a bug's message", f.message);
    return 0;
  }
  const Status s = verify(*p);
  if (!s.ok()) {
    if (kept_by_parsing(s.failure().message))
      found("a rule that parsing keeps", s.failure().message);
    print(*p);
    return 0;
  }
  check_round_trip(*p, ops);
  check_edits(*std::move(p), ops);
  return 0;
}
