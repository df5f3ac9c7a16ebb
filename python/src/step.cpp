// Step: whole training steps of a model's graphs, over the memory of the caller's parameters.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <set>

#include "bindings.h"
#include "cleave/checkpoint.h"
#include "cleave/graph_module.h"
#include "cleave/optim.h"
#include "cleave/train.h"

namespace cleave::python {
namespace {

using Numbers = std::map<std::string, double>;

// An optimizer of torch.optim and the parameters that it updates.
struct OptimizerGroup {
  std::string kind;
  Numbers numbers;  // flags are 0 and 1
  std::vector<std::string> names;
};

double number(const OptimizerGroup& g, const char* name) {
  const auto at = g.numbers.find(name);
  if (at == g.numbers.end())
    throw Error(ErrorKind::user, "Step: the optimizer " + g.kind + " lacks " + name);
  return at->second;
}

std::shared_ptr<const optim::Optimizer> optimizer_of(const OptimizerGroup& g) {
  const auto n = [&](const char* name) { return number(g, name); };
  const auto flag = [&](const char* name) { return number(g, name) != 0; };
  if (g.kind == "SGD")
    return std::make_shared<optim::SGD>(optim::SGD::Options{.lr = n("lr"),
                                                            .momentum = n("momentum"),
                                                            .weight_decay = n("weight_decay"),
                                                            .nesterov = flag("nesterov"),
                                                            .dampening = n("dampening")});
  if (g.kind == "Adam")
    return std::make_shared<optim::Adam>(optim::AdamOptions{.lr = n("lr"),
                                                            .beta1 = n("beta1"),
                                                            .beta2 = n("beta2"),
                                                            .eps = n("eps"),
                                                            .weight_decay = n("weight_decay"),
                                                            .amsgrad = flag("amsgrad")});
  if (g.kind == "AdamW")
    return std::make_shared<optim::AdamW>(optim::AdamW::Options{.lr = n("lr"),
                                                                .beta1 = n("beta1"),
                                                                .beta2 = n("beta2"),
                                                                .eps = n("eps"),
                                                                .weight_decay = n("weight_decay"),
                                                                .amsgrad = flag("amsgrad")});
  if (g.kind == "RMSprop")
    return std::make_shared<optim::RMSprop>(
        optim::RMSprop::Options{.lr = n("lr"),
                                .alpha = n("alpha"),
                                .eps = n("eps"),
                                .weight_decay = n("weight_decay"),
                                .momentum = n("momentum"),
                                .centered = flag("centered")});
  if (g.kind == "Adagrad")
    return std::make_shared<optim::Adagrad>(
        optim::Adagrad::Options{.lr = n("lr"),
                                .lr_decay = n("lr_decay"),
                                .weight_decay = n("weight_decay"),
                                .initial_accumulator_value = n("initial_accumulator_value"),
                                .eps = n("eps")});
  throw Error(ErrorKind::unsupported, "Step: the optimizer " + g.kind + " isn't covered");
}

// Selects its parameters, and takes over what the group's own optimizer does.
optim::Group group_of(const OptimizerGroup& g) {
  const auto selects = [names = std::set(g.names.begin(), g.names.end())](
                           const std::string& name, const Tensor&) { return names.contains(name); };
  struct Held : optim::Optimizer {
    std::shared_ptr<const optim::Optimizer> of;
    void record(optim::Update& update) const override { of->record(update); }
    double learning_rate() const override { return of->learning_rate(); }
  } held;
  held.of = optimizer_of(g);
  return {selects, held};
}

NamedTensors copies(const nb::dict& state) {
  NamedTensors out;
  for (auto [name, tensor] : state)
    out[nb::cast<std::string>(name)] = tensor_of(tensor, Kept::by_caller).host();
  return out;
}

// Programs of one model for several sizes, over the same state.
class Step {
 public:
  Step(const TracedGraph& graph, const nb::dict& state, const std::vector<OptimizerGroup>& groups,
       const std::string& options)
      : options_(TrainOptions::parse(options)), module_(graph, copies(state)),
        optimizer_(made(groups)) {
    options_.compile.log = python_log();
    options_.compile.executor = threads_of_openmp(options_.compile.threads);
    bind(state);
    std::set<std::string> trained;
    for (const OptimizerGroup& g : groups) trained.insert(g.names.begin(), g.names.end());
    for (auto& [name, v] : module_.named_parameters())
      if (!trained.contains(name)) v.set_requires_grad(false);
    const nb::gil_scoped_release unlocked;
    add(module_, {});
  }

  size_t add(const TracedGraph& graph, const nb::dict& consts,
             const std::map<std::string, int64_t>& sizes) {
    const GraphModule module = module_.with_graph(graph, copies(consts));
    const nb::gil_scoped_release unlocked;
    return add(module, sizes);
  }
  void drop(size_t program) { programs_.erase(program); }

  double run(size_t program, nb::sequence inputs) {
    std::vector<DeviceTensor> tensors;
    for (nb::handle t : inputs) tensors.push_back(tensor_of(t, Kept::by_caller));
    const nb::gil_scoped_release unlocked;
    last_step_ = programs_.at(program);
    last_ = last_step_.run(std::vector<InputRef>(tensors.begin(), tensors.end()));
    return last_.loss;
  }

  nb::list outputs() const {
    nb::list out;
    size_t results = 0;
    for (const GraphValue& v : module_.graph().results()) results += v.role == "result" ? 1 : 0;
    for (size_t k = 0; k + 1 < results; ++k) out.append(to_python(last_step_.output(k)));
    return out;
  }
  double grad_norm() const { return last_.grad_norm; }
  bool skipped() const { return last_.skipped; }
  double loss_scale() const { return last_.loss_scale; }
  int64_t steps() const { return last_step_.steps(); }
  void set_learning_rate(size_t group, double lr) { last_step_.set_learning_rate(group, lr); }
  const Report& report() const { return last_step_.report(); }
  std::string graph_text() const { return last_step_.graph_text(); }
  void save(const std::string& path, const Metadata& metadata) const {
    save_checkpoint(path, last_step_.store(), metadata);
  }
  Metadata load(const std::string& path) const { return load_checkpoint(path, last_step_.store()); }

  // What the step has beside the module, by name: copies.
  nb::dict state() const {
    nb::dict out;
    const Store store = last_step_.store();
    for (const auto& [name, v] : store.entries())
      if (name.starts_with(state_prefix)) out[name.c_str()] = to_python(HostTensor(v.value()));
    return out;
  }
  // All or nothing is set.
  void set_state(const nb::dict& tensors) {
    const NamedTensors all = copies(tensors);
    const Store store = last_step_.store();
    for (const auto& [name, tensor] : all) {
      const Variable v = store.at(name);
      if (v.dtype() != tensor.dtype() || v.shape() != tensor.shape())
        throw Error(ErrorKind::user, "Step: " + name + " is " + v.value().type_text() + ", got " +
                                         tensor.type_text());
    }
    for (const auto& [name, tensor] : all) store.at(name).set(tensor);
  }

 private:
  static constexpr std::string_view state_prefix = "optimizer.";

  static optim::Groups made(const std::vector<OptimizerGroup>& groups) {
    std::vector<optim::Group> all;
    for (const OptimizerGroup& g : groups) all.push_back(group_of(g));
    return optim::Groups(std::move(all));
  }
  size_t add(const GraphModule& module, const std::map<std::string, int64_t>& sizes) {
    std::vector<InputSpec> specs = module.inputs(sizes);
    for (InputSpec& spec : specs) spec.copy_strides = true;
    const Store store = programs_.empty() ? Store() : last_step_.store();
    TrainStep step = train_step(
        module_, [module](const Tensors& inputs) { return module(inputs); }, optimizer_, specs,
        options_, store);
    if (programs_.empty()) last_step_ = step;
    programs_.emplace(next_, std::move(step));
    return next_++;
  }
  // Parameters and buffers lie in the caller's tensors from now on.
  void bind(const nb::dict& state) {
    const Store store = module_.store();
    for (const auto& [name, v] : store.entries()) {
      Variable variable = v;
      variable.bind(tensor_of(state[name.c_str()], Kept::here), Contents::of_memory);
    }
  }

  TrainOptions options_;
  GraphModule module_;
  optim::Groups optimizer_;
  std::map<size_t, TrainStep> programs_;
  size_t next_ = 0;
  TrainStep last_step_;  // that ran last
  StepResult last_;
};

}  // namespace

void bind_step(nb::module_& m) {
  nb::class_<OptimizerGroup>(m, "OptimizerGroup",
                             "An optimizer of torch.optim, its numbers, its parameters' names.")
      .def(nb::init<std::string, Numbers, std::vector<std::string>>(), nb::arg("kind"),
           nb::arg("numbers"), nb::arg("names"));
  nb::class_<Step>(m, "Step", "A whole training step as one program (cleave.Step makes it).")
      .def(nb::init<const TracedGraph&, const nb::dict&, const std::vector<OptimizerGroup>&,
                    const std::string&>(),
           nb::arg("graph"), nb::arg("state"), nb::arg("groups"), nb::arg("options") = "",
           "graph: its first result is the loss. state: the tensors of its params, buffers and "
           "consts by name; the first two are written by each run. options: the text of "
           "TrainOptions, 'clip_norm=1'.")
      .def("add",
           nb::overload_cast<const TracedGraph&, const nb::dict&,
                             const std::map<std::string, int64_t>&>(&Step::add),
           nb::arg("graph"), nb::arg("consts"), nb::arg("sizes"),
           "A program for another graph over the same params and buffers, with these values of its "
           "symints. Returns its number; the first one's is 0.")
      .def("drop", &Step::drop, nb::arg("program"))
      .def("run", &Step::run, nb::arg("program"), nb::arg("inputs"), "Returns the loss.")
      .def("state", &Step::state, "What the optimizer keeps, by name: copies.")
      .def("set_state", &Step::set_state, nb::arg("tensors"), "Of names that state() has.")
      .def("outputs", &Step::outputs, "The graph's other results in the last run.")
      .def_prop_ro("grad_norm", &Step::grad_norm)
      .def_prop_ro("skipped", &Step::skipped)
      .def_prop_ro("loss_scale", &Step::loss_scale)
      .def_prop_ro("steps", &Step::steps)
      .def("set_learning_rate", &Step::set_learning_rate, nb::arg("group"), nb::arg("lr"))
      .def("report", [](const Step& s) { return report_dict(s.report()); })
      .def_prop_ro("graph_text", &Step::graph_text)
      .def("save", &Step::save, nb::arg("path"), nb::arg("metadata") = Metadata())
      .def("load", &Step::load, nb::arg("path"));
}

}  // namespace cleave::python
