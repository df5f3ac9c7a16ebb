// Nodes that check values and have no result: the program's next result waits for them.
//
//   _assert_async(c, message)                            c is not 0
//   with_effects(token, _linalg_check_errors, info, f)   each info is 0; tokens order such calls
//
// What is returned then, y, is _functional_assert_async(c, y): a run whose c is 0 fails with the
// message. Source: torch/_higher_order_ops/effects.py, PyTorch 2.13.
#include "import/exported/factor_errors.h"
#include "import/exported/graph_reader.h"

namespace cleave::exported {
namespace {

using Kind = Argument::Kind;

constexpr std::string_view factor_check = "torch.ops.aten._linalg_check_errors.default";

const Argument* input(const Node& node, size_t k, Kind kind) {
  return k < node.inputs.size() && node.inputs[k].value.kind == kind ? &node.inputs[k].value
                                                                     : nullptr;
}

}  // namespace

bool checks_value(const Node& node) {
  const Target t = parse_target(node.target);
  return t.space == "aten" && t.name == "_assert_async" && input(node, 0, Kind::tensor) != nullptr;
}

bool checks_factor(const Node& node) {
  const Argument *op = input(node, 1, Kind::text), *f = input(node, 3, Kind::text);
  return node.target == "torch.ops.higher_order.with_effects" && op && op->text == factor_check &&
         input(node, 2, Kind::tensor) && f && factor_error(f->text) != nullptr;
}

Status GraphReader::note_check(const Node& node) {
  const bool is_factor = checks_factor(node);
  CLEAVE_TRY(ValueId holds, value(node.inputs[is_factor ? 2 : 0].value.text));
  if (is_factor) holds = b_.call1("all", {b_.call1("eq", {holds, 0})});
  const Argument* text = input(node, is_factor ? 3 : 1, Kind::text);
  checks_.push_back({holds, is_factor ? factor_error(text->text)
                            : text    ? text->text
                                      : "an assertion about a tensor failed"});
  return b_.status();
}

Result<ValueId> GraphReader::behind_checks(ValueId v) {
  if (!v.valid()) return v;
  for (const Check& c : checks_)
    v = b_.call1("_functional_assert_async", {c.holds, v}, {{"assert_msg", c.message}});
  checks_.clear();
  CLEAVE_CHECK(b_.status());
  return v;
}

}  // namespace cleave::exported
