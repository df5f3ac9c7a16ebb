// The operators of `cleave_planted`, which is the command with a defect planted in it, for tests of
// what finds and reduces defects. It calls core_ops() below in the place of the library's (the
// linker's --wrap). CLEAVE_PLANT says what is wrong; without it nothing is:
//
//   KIND:OP[:N]      wherever OP, an elementwise operator, is lowered with a result of at least N
//                    elements
//   KIND:OP+OP2[:N]  if OP2 was lowered before, in the same process
//
//   wrong   its results are a twentieth too large         slow   it takes 3 s longer
//   crash   SIGABRT                                       hang   it never ends
//   defect  a broken invariant: exit status 3
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "loop/lower_rule.h"
#include "op/registry.h"

namespace cleave {
namespace {

struct Plant {
  std::string kind, op, before;
  int64_t least = 0;
  bool is_ripe = false;  // `before` was lowered
};

std::string_view next_part(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

Plant plant_of(std::string_view text) {
  Plant out;
  out.kind = next_part(text, ':');
  std::string_view ops = next_part(text, ':');
  out.op = next_part(ops, '+');
  out.before = ops;
  out.is_ripe = out.before.empty();
  std::from_chars(text.data(), text.data() + text.size(), out.least);
  return out;
}

using loop::ElementwiseRule, loop::Exprs, loop::KernelBuilder;

// What OP does before it is lowered; whether its results are wrong.
bool bears_fruit(const Plant& plant, const OpView& view) {
  const Dim elements = view.out_type(0).numel();
  if (!plant.is_ripe || !elements.is_const() || elements.value() < plant.least) return false;
  if (plant.kind == "crash") std::abort();
  if (plant.kind == "defect") throw_bug("{}: planted in %{}", plant.op, plant.op);
  if (plant.kind == "slow") ::sleep(3);
  while (plant.kind == "hang") ::pause();
  return plant.kind == "wrong";
}

loop::LowerPtr planted(const loop::LowerPtr& rule, const std::shared_ptr<Plant>& plant) {
  loop::LowerRule out = *rule;
  auto& value = std::get<ElementwiseRule>(out.form).value;
  value = [inner = value, plant](KernelBuilder& b, const OpView& view, const Exprs& index) {
    const bool is_wrong = bears_fruit(*plant, view);
    Exprs results = inner(b, view, index);
    if (is_wrong) results[0] = results[0] * loop::constant(results[0].type(), 1.05);
    return results;
  };
  return std::make_shared<const loop::LowerRule>(std::move(out));
}

loop::LowerPtr ripening(const loop::LowerPtr& rule, const std::shared_ptr<Plant>& plant) {
  loop::LowerRule out = *rule;
  auto& value = std::get<ElementwiseRule>(out.form).value;
  value = [inner = value, plant](KernelBuilder& b, const OpView& view, const Exprs& index) {
    plant->is_ripe = true;
    return inner(b, view, index);
  };
  return std::make_shared<const loop::LowerRule>(std::move(out));
}

}  // namespace

Result<OpRegistry> real_core_ops() asm("__real__ZN6cleave8core_opsEv");
Result<OpRegistry> planted_core_ops() asm("__wrap__ZN6cleave8core_opsEv");

Result<OpRegistry> planted_core_ops() {
  const char* text = std::getenv("CLEAVE_PLANT");
  if (!text) return real_core_ops();
  const auto plant = std::make_shared<Plant>(plant_of(text));
  CLEAVE_TRY(const OpRegistry all, real_core_ops());
  OpRegistry out;
  for (const auto& op : all.all()) {
    OpDef def = *op;
    if (def.name == plant->op) def.lower = planted(*def.lower, plant);
    if (def.name == plant->before) def.lower = ripening(*def.lower, plant);
    CLEAVE_CHECK(out.add(std::move(def)));
  }
  return out;
}

}  // namespace cleave
