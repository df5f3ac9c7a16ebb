// Any bytes are a program or an error, with composites and complex tensors. A program that
// verifies prints, reads back equal, and stays valid through dead code elimination, common
// subexpressions and sorting. The operators are cleave's and the toys of test/ir, so that inference
// is fuzzed too. A small program is differentiated, and run by the oracle and as bytecode: any
// outcome but a Bug or a crash is right.
//   make fuzz-build && build/fuzz/bin/fuzz_clv -dict=test/fuzz/clv.dict -max_total_time=300 \
//     CORPUS test/fuzz/clv
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "grad/grad.h"
#include "import/exported/composites.h"
#include "ir/edit.h"
#include "ir/print.h"
#include "ir/text.h"
#include "test/ir/all_ops.h"
#include "test/random_inputs.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

[[noreturn]] void found(const char* what, const std::string& text) {
  std::fprintf(stderr, "FOUND %s\n%s\n", what, text.c_str());
  std::abort();
}

// Rules of the verifier that parsing already checks.
bool kept_by_parsing(const std::string& message) {
  // The first rule in the message; names in the text after it may look like rules.
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
  p.subgraphs = subgraphs_in_order(p.main, {});  // they are edited, too
  if (const Status s = verify(p); !s.ok())
    found("edits break a rule", s.failure().message + "\n" + print(p));
  check_round_trip(p, ops);
}

// Whether a run ends soon: few nodes with few elements each, all sizes known, and no loop.
bool is_small(const Graph& g) {
  constexpr int64_t most = 1 << 12;
  if (g.node_count() > 40) return false;
  const auto few = [](const Type& t) {
    if (t.is_none) return true;
    int64_t n = 1;
    for (const Dim& d : t.shape) {
      if (!d.is_const() || d.value() > most) return false;
      n *= d.value();
      if (n > most) return false;
    }
    return true;
  };
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint || !few(g.type(p.value))) return false;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    if (g.node(n).op->name == "while_loop") return false;
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (!few(g.type(g.node(n).out(k)))) return false;
  }
  return true;
}

void expect_no_bug(const Failure& f, const Graph& g) {
  if (f.kind == ErrorKind::bug) found("a bug", f.message + "\n" + print(g));
}

void check_run(const Graph& g, const OpRegistry& ops) {
  if (!is_small(g)) return;
  const std::map<std::string, Array> named = test::random_inputs(g);
  Arrays inputs;
  for (const Placeholder& p : g.placeholders()) inputs.push_back(named.at(g.name(p.value)));
  const Result<Arrays> by_oracle = interpret(g, named);
  if (!by_oracle.ok()) expect_no_bug(by_oracle.failure(), g);
  const Result<Arrays> compiled =
      law::run_graph(g, ops, inputs, CompilerChoice::none, /*threads=*/1);
  if (!compiled.ok()) expect_no_bug(compiled.failure(), g);
  if (!by_oracle.ok() || !compiled.ok()) return;
  for (size_t k = 0; k < compiled->size(); ++k)
    if ((*compiled)[k].shape != (*by_oracle)[k].shape)
      found("another shape by the compiled program", print(g));
}

void check_runs(const Graph& g, const OpRegistry& ops) {
  check_run(g, ops);
  const Result<Graph> joint = make_joint(g, ops);
  if (joint.ok())
    check_run(*joint, ops);
  else
    expect_no_bug(joint.failure(), g);
}

}  // namespace
}  // namespace cleave

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  static const OpRegistry ops = all_ops();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto p = parse(text, "fuzz", ops, exported::aten_composites());
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
  check_runs(p->main, ops);
  check_edits(*std::move(p), ops);
  return 0;
}
