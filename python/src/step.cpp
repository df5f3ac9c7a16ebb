// Step: a whole training step of a graph, over the memory of the caller's parameters.
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

class Step {
 public:
  Step(const TracedGraph& graph, const nb::dict& state, const std::vector<OptimizerGroup>& groups,
       const std::string& options)
      : module_(graph, copies(state)) {
    bind(state);
    std::set<std::string> trained;
    std::vector<optim::Group> all;
    for (const OptimizerGroup& g : groups) {
      trained.insert(g.names.begin(), g.names.end());
      all.push_back(group_of(g));
    }
    for (auto& [name, v] : module_.named_parameters())
      if (!trained.contains(name)) v.set_requires_grad(false);
    std::vector<InputSpec> specs = module_.inputs();
    for (InputSpec& spec : specs) spec.copy_strides = true;
    const nb::gil_scoped_release unlocked;
    step_ = train_step(
        module_, [this](const Tensors& inputs) { return module_(inputs); },
        optim::Groups(std::move(all)), specs, TrainOptions::parse(options));
  }

  double run(nb::sequence inputs) {
    std::vector<DeviceTensor> tensors;
    for (nb::handle t : inputs) tensors.push_back(tensor_of(t, Kept::by_caller));
    const nb::gil_scoped_release unlocked;
    last_ = step_.run(std::vector<InputRef>(tensors.begin(), tensors.end()));
    return last_.loss;
  }

  nb::list outputs() const {
    nb::list out;
    size_t results = 0;
    for (const GraphValue& v : module_.graph().results()) results += v.role == "result" ? 1 : 0;
    for (size_t k = 0; k + 1 < results; ++k) out.append(to_python(step_.output(k)));
    return out;
  }
  double grad_norm() const { return last_.grad_norm; }
  bool skipped() const { return last_.skipped; }
  int64_t steps() const { return step_.steps(); }
  void set_learning_rate(size_t group, double lr) { step_.set_learning_rate(group, lr); }
  const Report& report() const { return step_.report(); }
  std::string graph_text() const { return step_.graph_text(); }
  void save(const std::string& path, const Metadata& metadata) const {
    save_checkpoint(path, step_.store(), metadata);
  }
  Metadata load(const std::string& path) const { return load_checkpoint(path, step_.store()); }

 private:
  static NamedTensors copies(const nb::dict& state) {
    NamedTensors out;
    for (auto [name, tensor] : state)
      out[nb::cast<std::string>(name)] = tensor_of(tensor, Kept::by_caller).host();
    return out;
  }
  // Parameters and buffers lie in the caller's tensors from now on.
  void bind(const nb::dict& state) {
    const Store store = module_.store();
    for (const auto& [name, v] : store.entries()) {
      Variable variable = v;
      variable.bind(tensor_of(state[name.c_str()], Kept::here), Contents::of_memory);
    }
  }

  GraphModule module_;
  TrainStep step_;
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
      .def("run", &Step::run, nb::arg("inputs"), "Returns the loss.")
      .def("outputs", &Step::outputs, "The graph's other results in the last run.")
      .def_prop_ro("grad_norm", &Step::grad_norm)
      .def_prop_ro("skipped", &Step::skipped)
      .def_prop_ro("steps", &Step::steps)
      .def("set_learning_rate", &Step::set_learning_rate, nb::arg("group"), nb::arg("lr"))
      .def("report", [](const Step& s) { return report_dict(s.report()); })
      .def_prop_ro("graph_text", &Step::graph_text)
      .def("save", &Step::save, nb::arg("path"), nb::arg("metadata") = Metadata())
      .def("load", &Step::load, nb::arg("path"));
}

}  // namespace cleave::python
