#include <limits>

#include "test/fuzz/misuse/world.h"

namespace cleave::misuse {

namespace {

// What a function does beside its calls.
void distract(World& w, Tensors& known) {
  switch (w.below(15)) {
    case 0: throw HostThrows();
    case 1: throw Error(ErrorKind::user, "the host program's own");
    case 2: w.tensors.add(known[w.rng() % known.size()]); break;  // leaked
    case 3: known.push_back(w.tensor()); break;                   // of another trace
    case 4:
      if (w.maybe(2))
        assign(w.variable(), known[w.rng() % known.size()]);
      else
        assign(known[w.rng() % known.size()], known[w.rng() % known.size()]);
      break;
    case 5: w.step().run({w.array(), w.array()}); break;
    case 6: {
      const auto& list = w.one_of<const std::vector<NamedAction>*>(
          {&module_actions(), &program_actions(), &array_actions()});
      if (w.depth < 3) list->operator[](w.rng() % list->size()).act(w);
      break;
    }
    case 7:
      known.push_back(cond(w.tensor(), random_function(w, false), random_function(w, false))[0]);
      break;
    case 8: {
      const Tensor x = known[w.rng() % known.size()];
      known.push_back(
          cond(sum(x) > 0, random_function(w, false), random_function(w, false), {x})[0]);
      break;
    }
    case 9: {
      const Tensors out = while_loop([](const Tensor& n, const Tensor&) { return n < 3; },
                                     [&](const Tensor& n, const Tensor& x) {
                                       Tensors inner{x};
                                       return Tensors{n + 1, random_call(w, inner)};
                                     },
                                     {zeros({}, DType::i64), known[0]});
      known.push_back(out[1]);
      break;
    }
    case 10: {
      const Tensors out = checkpoint(random_function(w, false), {known.back()});
      if (!out.empty()) known.push_back(out[0]);
      break;
    }
    case 11: {
      const Tensor x = known[w.rng() % known.size()];
      Tensor y = w.maybe(2) ? sum(known.back()) : w.tensor();
      GradOptions o{.allow_unused = w.maybe(2)};
      if (w.maybe(4)) o.cotangent = w.tensor();
      for (const Tensor& d : grad(y, {x, w.maybe(3) ? w.tensor() : known[0]}, o))
        known.push_back(d);
      break;
    }
    default: known.push_back(w.layers.any(w.rng) ? random_call(w, known) : known[0]);
  }
}

struct DepthOf {
  World& w;
  explicit DepthOf(World& world) : w(world) { ++w.depth; }
  ~DepthOf() { --w.depth; }
};

}  // namespace

TracedFunction random_function(World& w, bool is_loss) {
  const uint64_t seed = w.rng();
  const bool is_plain = w.maybe(2);
  const auto f = [&w, seed, is_loss, is_plain](const Tensors& in) -> Tensors {
    const DepthOf depth(w);
    std::mt19937_64 mine(seed), other = w.rng;  // the same calls each time it is called
    std::swap(w.rng, mine);
    struct Back {
      World& w;
      const std::mt19937_64& rng;
      ~Back() { w.rng = rng; }
    } const back{w, other};
    if (w.depth > 4) return in;
    Tensors known = in;
    if (known.empty()) known.push_back(w.maybe(2) ? ones({2}) : w.tensor());
    for (int64_t k = w.below(5); k > 0; --k)
      if (!is_plain && w.maybe(3))
        distract(w, known);
      else
        random_call(w, known);
    if (!is_plain && w.maybe(12)) return {};
    Tensor y = known.back();
    if (is_loss && (is_plain || !w.maybe(12))) {
      const auto& layer = w.layers.any(w.rng);
      if (layer && !in.empty() && in[0].dim() == 2) y = layer(in[0]);
      y = y.to(DType::f32).mean();
    }
    Tensors out{y};
    if (w.maybe(3)) out.push_back(known[w.rng() % known.size()]);
    return out;
  };
  return TracedFunction(std::function<Tensors(const Tensors&)>(f));
}

namespace {

std::vector<InputSpec> specs(World& w) {
  std::vector<InputSpec> out = {{"x", DType::f32, {4, 3}}};
  if (w.maybe(2)) out.push_back({"y", DType::f32, {4, 3}});
  if (w.maybe(6)) out.push_back({w.name(), w.dtype(), w.shape()});
  if (w.maybe(6)) {
    const std::string n = w.maybe(2) ? "N" : w.name();
    for (InputSpec& s : out) s.shape = {dyn(n, w.below(5), w.maybe(8) ? w.number() : 4), 3};
  }
  for (InputSpec& s : out) {
    if (w.maybe(6)) s.strides = w.strides(s.shape.largest());
    s.copy_strides = w.maybe(4);
    s.is_static = w.maybe(4);
    s.is_updated = w.maybe(4);
  }
  if (w.maybe(24)) out.clear();
  return out;
}

struct OddExecutor : Executor {
  int threads() const override { return 2; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    for (long k = pieces; k-- > 0;) f(context, k);
  }
};

CompileOptions compile_options(World& w) {
  CompileOptions o;
  o.threads = w.maybe(24) ? -1 : static_cast<int>(w.below(3));
  o.compiler = CompilerChoice::none;
  if (w.maybe(12)) o.executor = std::make_shared<OddExecutor>();
  if (w.maybe(6)) o.ops = w.operators.any(w.rng);
  if (w.maybe(24)) o.dump_dir = w.path();
  if (w.maybe(6)) o.watch = {w.name(), w.name()};
  if (w.maybe(12)) o.memory_budget = w.number();
  if (w.maybe(12)) o.memory_budget = MemoryBudget::percent(w.real() * 100);
  if (w.maybe(12)) o.autocast = w.dtype();
  if (w.maybe(12)) o.passes_off = {w.maybe(2) ? "all" : w.name()};
  if (w.maybe(12)) o.passes_on = {w.name()};
  if (w.maybe(12)) o.strict = true;
  if (w.maybe(12)) o.kept_sizes = w.number();
  if (w.maybe(24)) o.target = Target::named(w.maybe(2) ? "x86-64-v2" : w.name());
  if (w.maybe(24)) o.rules = {{.name = w.name(), .text = w.name()}};
  return o;
}

TrainOptions train_options(World& w) {
  TrainOptions o{.compile = compile_options(w)};
  if (w.maybe(6)) o.clip_norm = w.real();
  if (w.maybe(6)) o.report_grad_norm = true;
  if (w.maybe(4)) o.accumulate = w.maybe(12) ? w.number() : w.below(3) + 1;
  if (w.maybe(3)) o.on_nonfinite = static_cast<NonFinite>(w.below(3));
  if (w.maybe(4)) o.ema_decay = w.real();
  for (int64_t k = w.below(3); k > 0 && w.maybe(3); --k)
    o.frozen.emplace_back(w.name(), w.module());
  o.seed = w.rng();
  return o;
}

struct OddOptimizer : optim::Optimizer {
  World& w;
  const int kind;
  explicit OddOptimizer(World& world) : w(world), kind(static_cast<int>(world.below(8))) {}
  double learning_rate() const override { return kind == 0 ? -1 : 0.1; }
  std::vector<double> learning_rates() const override {
    if (kind == 1) return {};
    return std::vector<double>(kind == 2 ? 3 : 1, learning_rate());
  }
  void record(optim::Update& update) const override {
    if (kind == 3) throw HostThrows();
    if (kind == 4) return;
    for (const auto& p : update.parameters()) {
      const Tensor m = update.state(kind == 5 ? w.name() : "m", p, w.real());
      update.set_state("m", p, kind == 6 ? w.tensor() : m + p.grad);
      update.set(p, kind == 7 ? Tensor() : p.value - p.grad * update.learning_rate());
      if (w.maybe(8)) update.set({"nothing", p.value, p.grad}, p.value);
      w.tensors.add(p.grad);
    }
  }
};

std::shared_ptr<optim::Optimizer> optimizer(World& w) {
  switch (w.below(8)) {
    case 0: return std::make_shared<OddOptimizer>(w);
    case 1:
      return std::make_shared<optim::SGD>(optim::SGD::Options{
          .lr = w.real(), .momentum = w.real(), .weight_decay = w.real(), .nesterov = w.maybe(2)});
    case 2:
      return std::make_shared<optim::RMSprop>(
          optim::RMSprop::Options{.lr = w.real(), .alpha = w.real(), .centered = w.maybe(2)});
    case 3: return std::make_shared<optim::Adagrad>(optim::Adagrad::Options{.lr = w.real()});
    case 4: {
      std::vector<optim::Group> groups;
      if (!w.maybe(6)) groups.emplace_back(optim::named(w.name()), optim::SGD({}));
      if (!w.maybe(6)) groups.emplace_back(optim::others(), optim::AdamW({.lr = w.real()}));
      return std::make_shared<optim::Groups>(groups);
    }
    default:
      return std::make_shared<optim::AdamW>(optim::AdamW::Options{
          .decays = [](const std::string&, const Tensor& p) { return p.dim() == 2; }});
  }
}

}  // namespace

void make_good(World& w) {
  Generator g(1);
  nn::Module model;
  const nn::Linear body(3, 3, g);
  const nn::Dropout drop(0.2);
  model.add_module("body", body);
  model.add_module("drop", drop);
  w.modules.add(model);
  TrainOptions o;
  o.compile.compiler = CompilerChoice::none;
  o.compile.threads = static_cast<int>(w.below(2)) + 1;
  o.compile.watch = {"h", "grad.h"};
  o.clip_norm = w.one_of({0.0, 1.0});
  o.accumulate = w.below(3) + 1;
  o.on_nonfinite = static_cast<NonFinite>(w.below(3));
  o.ema_decay = w.one_of({0.0, 0.9});
  const TracedFunction loss([=](const Tensor& x) {
    const Tensor h = drop(body(x)).named("h");
    return Tensors{mean(square(h)), h};
  });
  w.steps.add(train_step(model, loss, optim::AdamW({}), {{"x", DType::f32, {4, 3}}}, o));
  CompileOptions compiled = o.compile;
  compiled.watch = {"h"};
  w.functions.add(compile(
      model, [=](const Tensor& x) { return tanh(body(x).named("h")); }, {{"x", DType::f32, {4, 3}}},
      compiled));
}

namespace {

void make_function(World& w) {
  const std::vector<InputSpec> in = specs(w);
  const TracedFunction f = random_function(w, false);
  w.functions.add(w.maybe(4) ? compile(f, in, compile_options(w))
                             : compile(w.module(), f, in, compile_options(w)));
}
// Mostly one that fits.
void make_step(World& w) {
  const std::vector<InputSpec> in = specs(w);
  const auto own = optimizer(w);
  const OptimizerRef how = w.maybe(4) ? OptimizerRef(*own) : OptimizerRef(own);
  nn::Module model;
  std::vector<std::string> paths;
  model.add_module("0", w.module());
  Generator g(1);
  const nn::Linear body(3, 3, g);
  model.add_module("body", body);
  w.layers.add([body](const Tensor& x) { return body(x); });
  w.modules.add(model);
  Store store = w.maybe(3) ? w.store() : Store();
  if (w.maybe(4)) store = w.step().store();
  if (w.maybe(2)) {
    TracedFunction loss([body](const Tensors& t) {
      if (t.empty()) throw HostThrows();
      const Tensor h = body(t[0]).named("h");
      return Tensors{mean(square(h)), h};
    });
    w.steps.add(train_step(model, loss, how, in, train_options(w), store));
  } else {
    w.steps.add(train_step(w.maybe(3) ? w.module() : model, random_function(w, true), how, in,
                           train_options(w), store));
  }
}
void trades(World& w) {
  const std::vector<InputSpec> in = specs(w);
  memory_trades(w.module(), random_function(w, true), *optimizer(w), in, train_options(w));
}

std::vector<InputRef> inputs(World& w) {
  std::vector<InputRef> out;
  for (int64_t k = w.maybe(2) ? 1 : w.below(4); k > 0; --k) {
    if (w.maybe(3))
      out.emplace_back(HostTensor(w.array()));
    else if (w.maybe(4))
      out.emplace_back(w.array());  // maybe two times the same
    else if (w.maybe(6))
      out.emplace_back(w.function().output_view(0));
    else
      out.emplace_back(Generator(w.rng()).normal({w.maybe(6) ? w.below(5) : 4, 3}, 0, w.real()));
  }
  return out;
}
void run_step(World& w) { w.step().run(inputs(w)); }
void run_named(World& w) {
  w.step().run({{"x", w.array()}, {w.name(), w.array()}});
  w.function().run({{w.name(), w.array()}});
}
void run_function(World& w) {
  for (const HostTensor& t : w.function().run(inputs(w))) w.arrays.add(t);
}
void run_boxed(World& w) {
  HostTensors given;
  for (const InputRef& in : inputs(w)) given.push_back(in.tensor());
  for (const HostTensor& t : w.function().run(std::move(given))) w.arrays.add(t);
}
Tree<InputSpec> tree_of(World& w, const std::vector<InputSpec>& in, size_t& at) {
  if (w.maybe(6)) return w.number();
  if (w.maybe(8)) return Tree<InputSpec>();
  if (at < in.size() && w.maybe(2)) return in[at++];
  std::vector<Tree<InputSpec>> items;
  while (at < in.size() && !w.maybe(4)) items.push_back(tree_of(w, in, at));
  if (w.maybe(2)) return Tree<InputSpec>::list(std::move(items));
  std::vector<std::pair<std::string, Tree<InputSpec>>> entries;
  for (Tree<InputSpec>& t : items) entries.emplace_back(w.name(), std::move(t));
  return Tree<InputSpec>::map(std::move(entries));
}
// The same tree of arrays, or nearly.
Tree<HostTensor> arrays_of(World& w, const Tree<InputSpec>& t) {
  if (w.maybe(40)) return w.array();
  if (t.kind() == Tree<InputSpec>::Kind::number) return t.number();
  if (t.kind() == Tree<InputSpec>::Kind::leaf)
    return w.maybe(4) ? w.array() : HostTensor(t.leaf().dtype, t.leaf().shape.largest());
  std::vector<Tree<HostTensor>> items;
  std::vector<std::pair<std::string, Tree<HostTensor>>> entries;
  for (size_t k = 0; k < t.size(); ++k) {
    items.push_back(arrays_of(w, t[k]));
    if (!t.keys().empty()) entries.emplace_back(t.keys()[k], items.back());
  }
  return entries.empty() ? Tree<HostTensor>::list(std::move(items))
                         : Tree<HostTensor>::map(std::move(entries));
}
void run_tree(World& w) {
  size_t at = 0;
  const Tree<InputSpec> in = tree_of(w, specs(w), at);
  CompiledTree f = compile_tree(
      [&](const Tree<Tensor>& t) {
        if (w.maybe(4)) w.tensors.add(t[w.number()]);
        return w.maybe(6) ? Tree<Tensor>(w.tensor()) : Tree<Tensor>::list({t, w.number()});
      },
      in);
  Tree<HostTensor> given = arrays_of(w, in);
  f.run(given);
  f.instance().run(std::move(given)).shape_text();
}
void run_in_place(World& w) {
  CompiledFunction& f = w.function();
  f.run_in_place(inputs(w));
  w.arrays.add(f.output_view(static_cast<size_t>(w.number())));
}
void ask_step(World& w) {
  TrainStep& s = w.step();
  switch (w.below(14)) {
    case 0: w.arrays.add(s.output(static_cast<size_t>(w.number()))); break;
    case 1: w.arrays.add(s.output_view(0)); break;
    case 2: w.arrays.add(s.value(w.name())); break;
    case 3: s.learning_rate(static_cast<size_t>(w.number())); break;
    case 4: s.set_learning_rate(w.real()); break;
    case 5: s.set_learning_rate(static_cast<size_t>(w.number()), w.real()); break;
    case 6: s.steps(); break;
    case 7: w.stores.add(s.store()); break;
    case 8: s.use_ema(w.maybe(2)); break;
    case 9: s.graph_text(); break;
    case 10: s.watch_memory(); break;
    case 11: s.measured_peak_bytes(); break;
    case 12: s.profile_kernels(w.maybe(2)); break;
    default: s.step_times(); (void)s.report().planned_peak_bytes;
  }
}
void ask_function(World& w) {
  CompiledFunction& f = w.function();
  switch (w.below(6)) {
    case 0: w.arrays.add(f.output(static_cast<size_t>(w.number()))); break;
    case 1: w.arrays.add(f.output_view(0)); break;
    case 2: w.arrays.add(f.value(w.name())); break;
    case 3: f.graph_text(); break;
    case 4: w.functions.add(f.instance()); break;
    default: (void)f.report().kernels;
  }
}
// What a step keeps, set to anything of its type.
void spoil_state(World& w) {
  const Store s = w.step().store();
  if (s.entries().empty()) return;
  Variable v = s.entries()[w.rng() % s.entries().size()].second;
  HostTensor t = v.value();
  for (int64_t k = 0; k < t.numel(); ++k)
    t.set_number(k, is_floating(t.dtype()) ? w.real() : static_cast<double>(w.number()));
  v.set(t);
}
void move_away(World& w) {
  const TrainStep step = std::move(w.step());
  const CompiledFunction f = std::move(w.function());
  if (w.maybe(2)) w.steps.add(step);
  if (w.maybe(2)) w.functions.add(f);
}

}  // namespace

const std::vector<NamedAction>& program_actions() {
  static const std::vector<NamedAction> all = {
      {"program.compile", make_function},
      {"program.train_step", make_step},
      {"program.train_step", make_step},
      {"program.trades", trades},
      {"step.run", run_step},
      {"step.run", run_step},
      {"program.run_named", run_named},
      {"function.run", run_function},
      {"function.run_in_place", run_in_place},
      {"function.run_boxed", run_boxed},
      {"function.run_tree", run_tree},
      {"step.ask", ask_step},
      {"step.ask", ask_step},
      {"function.ask", ask_function},
      {"step.spoil", spoil_state},
      {"program.move", move_away},
  };
  return all;
}

}  // namespace cleave::misuse
