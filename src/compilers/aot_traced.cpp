// A function of Tensors, traced for each tuple of sizes.
#include <algorithm>

#include "compilers/aot_halves.h"
#include "exec/bound_program.h"
#include "exec/input_sizes.h"

namespace cleave {

using trace::Access;

namespace {

constexpr const char* what = "aot_function";

class TracedSource final : public AotSource {
 public:
  TracedSource(std::optional<nn::Module> model, TracedFunction function, InputSizes sizes,
               AotOptions options, Location at)
      : model_(std::move(model)), function_(std::move(function)), sizes_(std::move(sizes)),
        options_(std::move(options)), at_(at) {
    HostTensor state(DType::i64, {2});
    *state.data<int64_t>() = static_cast<int64_t>(options_.seed);
    rng_ = Variable("rng", std::move(state), VariableKind::random);
  }

  std::vector<int64_t> sizes(std::span<const InputRef> inputs) override {
    std::vector<int64_t> out;
    value_or_throw(sizes_.read(inputs, out));
    return out;
  }
  std::vector<int64_t> first_sizes() const override { return sizes_.largest(); }
  Halves halves(const std::vector<int64_t>& sizes) override;
  HostTensors operands(const Graph& forward, std::span<const InputRef> inputs) override;
  HostTensor& target(const std::string& name, std::span<const InputRef> inputs) override;
  const std::vector<std::string>& wanted_inputs() const override { return options_.wants_grad; }
  std::vector<int64_t> versions() const override {
    std::vector<int64_t> out;
    for (const auto& [name, variable] : variables_)
      if (variable.kind() == VariableKind::parameter)
        out.push_back(Access::state(variable)->version);
    return out;
  }

 private:
  void mark_wanted(Graph& g);
  size_t input_of(const std::string& name) const {  // the number of inputs: it is a Variable
    return static_cast<size_t>(std::ranges::find(sizes_.specs(), name, &InputSpec::name) -
                               sizes_.specs().begin());
  }

  const std::optional<nn::Module> model_;
  const TracedFunction function_;
  const InputSizes sizes_;
  const AotOptions options_;
  const Location at_;
  Variable rng_;
  std::map<std::string, Variable> variables_;  // by placeholder, of all sizes
};

void TracedSource::mark_wanted(Graph& g) {
  for (size_t i = 0; i < g.placeholders().size(); ++i) {
    const std::string& name = g.name(g.placeholders()[i].value);
    const auto variable = variables_.find(name);
    const bool wants =
        variable == variables_.end()
            ? std::ranges::find(options_.wants_grad, name) != options_.wants_grad.end()
            : variable->second.kind() == VariableKind::parameter &&
                  variable->second.requires_grad();
    if (wants) g.placeholder(i).wants_grad = true;
  }
}

Halves TracedSource::halves(const std::vector<int64_t>& sizes) {
  const trace::RecordingPtr recording = trace::Recording::program(
      options_.ops.registry(), trace::Mode::training, what, !model_.has_value());
  const trace::AbandonAtEnd over{*recording};
  if (model_) declare_model(*recording, *model_);
  recording->set_rng(rng_);
  const std::vector<ValueId> inputs = declare_inputs(*recording, sizes_.at(sizes), at_);
  const Tensors results = run_traced(function_, recording, inputs, at_);
  advance_random(*recording, at_);
  std::vector<Return> returns;
  for (const Tensor& t : results) returns.push_back({recording->value_of(t, at_)});
  for (const auto& u : recording->updates())
    returns.push_back({u.next, ReturnKind::update, u.target});
  recording->graph().set_returns(std::move(returns));
  drop_unused(recording->graph(), inputs);
  Graph g = recording->close();
  for (const auto& [placeholder, variable] : recording->bound())
    if (g.placeholder_of(placeholder)) variables_[g.name(placeholder)] = variable;
  mark_wanted(g);
  return trace::value_or_throw_at(at_, Halves::make(std::move(g), results.size(), options_));
}

HostTensors TracedSource::operands(const Graph& forward, std::span<const InputRef> inputs) {
  HostTensors out;
  for (const Placeholder& p : forward.placeholders()) {
    const std::string& name = forward.name(p.value);
    const size_t k = input_of(name);
    if (k == inputs.size()) {
      out.push_back(borrowed(Access::memory(variables_.at(name))));
      continue;
    }
    const InputSpec& spec = sizes_.specs()[k];
    const HostTensor& t = inputs[k].tensor();
    if (has_strides_of(t, spec))
      out.push_back(borrowed(t));
    else if (spec.strides.empty())
      out.push_back(t.contiguous());
    else
      out.emplace_back(t.dtype(), t.shape(), spec.strides).copy_from(t);
  }
  return out;
}

HostTensor& TracedSource::target(const std::string& name, std::span<const InputRef> inputs) {
  const size_t k = input_of(name);
  if (k == inputs.size()) return Access::written(variables_.at(name));
  return const_cast<HostTensor&>(inputs[k].tensor());  // not a const one: sizes() has refused it
}

}  // namespace

std::unique_ptr<AotSource> traced_source(std::optional<nn::Module> model,
                                         const TracedFunction& function,
                                         const std::vector<InputSpec>& inputs,
                                         const AotOptions& options, Location at) {
  for (const std::string& name : options.wants_grad) {
    if (std::ranges::count(options.wants_grad, name) > 1)
      trace::refuse(at, "{}: wants_grad: `{}` is named twice", what, name);
    const auto spec = std::ranges::find(inputs, name, &InputSpec::name);
    if (spec == inputs.end())
      trace::refuse(at, "{}: wants_grad: there is no input `{}`", what, name);
    if (!is_floating(spec->dtype))
      trace::refuse(at, "{}: wants_grad: `{}` is {}, which isn't floating", what, name,
                    spec_text(*spec));
  }
  InputSizes sizes = trace::value_or_throw_at(at, InputSizes::make(what, inputs));
  return std::make_unique<TracedSource>(std::move(model), function, std::move(sizes), options, at);
}

}  // namespace cleave
