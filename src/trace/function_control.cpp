// cond and while_loop: functions recorded as subgraphs, and the call that refers to them.
//
// The placeholders of a subgraph are the operands, [the iteration counter,] and the values of the
// enclosing program that the functions read, in the order of their first use.
#include "cleave/control_flow.h"
#include "trace/record.h"

namespace cleave {

using trace::Access;
using trace::Recording;
using trace::RecordingPtr;
using trace::refuse;

namespace {

// A function while it is recorded; even if it throws, the recording is abandoned, so that the
// parent can continue.
struct Traced {
  RecordingPtr recording;
  Values results = {};
  std::vector<ValueId> parameters = {};

  explicit Traced(RecordingPtr r) : recording(std::move(r)) {}
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;
  ~Traced() { recording->abandon(); }
  Graph& graph() const { return recording->graph(); }
};

void add_parameters(Traced& traced, const std::vector<Type>& types,
                    const std::vector<std::string>& names) {
  for (size_t k = 0; k < types.size(); ++k)
    traced.parameters.push_back(value_or_throw(traced.graph().add_placeholder(
        Role::input, traced.graph().fresh_name(names[k]), types[k])));
}

void record(Traced& traced, const TracedFunction& function, size_t arguments, Location at) {
  const RecordingPtr& r = traced.recording;
  if (!function) refuse(at, "{}: there is no function", r->what());
  if (function.arity() >= 0 && static_cast<size_t>(function.arity()) != arguments)
    refuse(at, "{}: the function takes {} Tensors, got {} operands", r->what(), function.arity(),
           arguments);
  Tensors given;
  for (size_t k = 0; k < arguments; ++k) given.push_back(Access::tensor(r, traced.parameters[k]));
  const Tensors results = function(given);
  if (results.empty()) refuse(at, "{}: the function returns nothing", r->what());
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].defined())
      refuse(at, "{}: result {} of the function is an empty Tensor", r->what(), k);
    traced.results.push_back(r->value_of(results[k], at));
  }
}

GraphRef finished(Traced& traced) {
  std::vector<Return> returns;
  for (const ValueId v : traced.results) returns.push_back({v});
  traced.graph().set_returns(std::move(returns));
  return std::make_shared<const Graph>(traced.recording->close());
}

// The operands in the recording, with types and names for the placeholders that represent them.
struct Operands {
  Values values;
  std::vector<Type> types;
  std::vector<std::string> names;

  Operands(const RecordingPtr& r, const char* op, const Tensors& tensors, Location at) {
    for (const Tensor& t : tensors) {
      trace::require_defined(op, "an operand", t, at);
      add(r, r->value_of(t, at));
    }
  }
  void add(const RecordingPtr& r, ValueId v) {
    values.push_back(v);
    types.push_back(r->graph().type(v));
    types.back().strides.reset();
    names.push_back(r->graph().name(v));
  }
};

// Gives both subgraphs the same placeholders: those of the first, then those that the second adds.
void share_captures(Traced& first, Traced& second) {
  for (const ValueId v : second.recording->captured()) first.recording->capture(v);
}

Tensors tensors_of(const RecordingPtr& r, const Values& values) {
  Tensors out;
  for (const ValueId v : values) out.push_back(Access::tensor(r, v));
  return out;
}

}  // namespace

Tensors cond(const Tensor& pred, const TracedFunction& then, const TracedFunction& otherwise,
             const Tensors& operands, Location at) {
  trace::require_defined("cond", "pred", pred, at);
  const RecordingPtr r = trace::common_recording("cond", {pred, operands}, at);
  Operands given(r, "cond", operands, at);
  const std::string name = r->subgraph_name("cond");

  Traced first(Recording::subgraph(r, name + ".then", "a branch of cond", at));
  add_parameters(first, given.types, given.names);
  record(first, then, operands.size(), at);
  first.recording->abandon();  // no longer open, but not yet complete

  Traced second(Recording::subgraph(r, name + ".otherwise", "a branch of cond", at));
  add_parameters(second, given.types, given.names);
  for (const ValueId v : first.recording->captured()) second.recording->capture(v);
  record(second, otherwise, operands.size(), at);
  share_captures(first, second);

  Values all = given.values;
  for (const ValueId v : second.recording->captured()) all.push_back(v);
  const GraphRef graphs[] = {finished(first), finished(second)};
  return tensors_of(r, r->call("cond", {r->value_of(pred, at), CallOperand(all)},
                               {{"then", graphs[0]}, {"otherwise", graphs[1]}}, at));
}

Tensors while_loop(const TracedFunction& condition, const TracedFunction& body,
                   const Tensors& carried, Location at) {
  const RecordingPtr r = trace::common_recording("while_loop", {carried}, at);
  if (carried.empty()) refuse(at, "while_loop: no carried values");
  Operands given(r, "while_loop", carried, at);
  const std::string name = r->subgraph_name("while_loop");
  // The iteration counter is removed if neither function uses it.
  given.types.emplace_back(DType::i64, Shape{});
  given.names.emplace_back("iteration");

  Traced test(Recording::subgraph(r, name + ".condition", "the condition of while_loop", at));
  add_parameters(test, given.types, given.names);
  test.recording->set_counter(test.parameters.back());
  record(test, condition, carried.size(), at);
  test.recording->abandon();

  Traced step(Recording::subgraph(r, name + ".body", "the body of while_loop", at));
  add_parameters(step, given.types, given.names);
  step.recording->set_counter(step.parameters.back());
  for (const ValueId v : test.recording->captured()) step.recording->capture(v);
  record(step, body, carried.size(), at);
  share_captures(test, step);
  if (step.results.size() != carried.size())
    refuse(at, "while_loop: the body returns {} Tensors, expected the next values of {}",
           step.results.size(), carried.size());

  Values all = given.values;
  const ValueId counters[] = {test.parameters.back(), step.parameters.back()};
  if (test.graph().use_count(counters[0]) > 0 || step.graph().use_count(counters[1]) > 0) {
    const auto one_more = [&](Graph& g) {
      Builder b(g, r->ops());
      const ValueId next = b.add(counters[1], 1);
      value_or_throw(b.status());
      return next;
    };
    step.results.push_back(one_more(step.graph()));
    all.push_back(
        r->call("full", {}, {{"size", Sizes{}}, {"fill_value", 0}, {"dtype", DType::i64}}, at)[0]);
  } else {
    for (int i = 0; i < 2; ++i)
      (i == 0 ? test : step).graph().filter_placeholders([&](const Placeholder& p) {
        return p.value != counters[i];
      });
  }
  for (const ValueId v : step.recording->captured()) all.push_back(v);
  const GraphRef graphs[] = {finished(test), finished(step)};
  Tensors out = tensors_of(r, r->call("while_loop", {CallOperand(all)},
                                      {{"condition", graphs[0]}, {"body", graphs[1]}}, at));
  out.resize(carried.size());
  return out;
}

}  // namespace cleave
