// A function of Tensors as a graph, and that graph run by the oracle.
#pragma once
#include "exec/bound_program.h"
#include "ir/edit.h"
#include "test/random_inputs.h"

namespace cleave::test {

// Model may be null: Variables then keep their own names.
inline Graph traced(const std::vector<InputSpec>& specs, const TracedFunction& f,
                    trace::Mode mode = trace::Mode::evaluation, const nn::Module* model = nullptr) {
  const auto r = trace::Recording::program(core(), mode, "test", model == nullptr);
  HostTensor rng(DType::i64, {2});
  r->set_rng(Variable("rng", rng, VariableKind::random));
  if (model != nullptr) declare_model(*r, *model);
  const std::vector<ValueId> inputs = declare_inputs(*r, specs);
  const Tensors results = run_traced(f, r, inputs, Location::current());
  std::vector<Return> returns;
  for (const Tensor& t : results) returns.push_back({r->value_of(t, Location::current())});
  for (const auto& u : r->updates()) returns.push_back({u.next, ReturnKind::update, u.target});
  r->graph().set_returns(std::move(returns));
  drop_unused(r->graph(), inputs);
  return r->close();
}

// The text without types and source lines.
inline std::string bare(const Graph& g) {
  const std::string text = print(g);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (line.find(" = ") != std::string::npos)
      if (const size_t colon = line.find(" : "); colon != std::string::npos) line.resize(colon);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
    at = end + 1;
  }
  return out;
}

inline Array array_of(const HostTensor& t) {
  Array a(t.dtype(), t.shape());
  for (int64_t k = 0; k < t.numel(); ++k) a.set(k, t.number(k));
  return a;
}

// Results by the oracle; Variables of the graph are given in `inputs` as well.
inline Arrays run(const Graph& g, const std::map<std::string, Array>& inputs) {
  value_or_throw(verify(g));
  return value_or_throw(interpret(g, inputs));
}

inline Array filled(std::vector<int64_t> shape, const std::vector<double>& values,
                    DType dtype = DType::f64) {
  Array a(dtype, std::move(shape));
  for (int64_t k = 0; k < a.numel(); ++k) a.set(k, values[k]);
  return a;
}

// What a call throws; "no error" where it doesn't.
template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

// "FILE:LINE: rest" as "rest", where FILE is that of the test; the line goes to `line`.
inline std::string after_line(const std::string& message, const std::string& file, int* line) {
  if (message.rfind(file + ":", 0) != 0) return "not at the test's line: " + message;
  const size_t colon = message.find(':', file.size() + 1);
  *line = std::stoi(message.substr(file.size() + 1, colon - file.size() - 1));
  return message.substr(colon + 2);
}

}  // namespace cleave::test
