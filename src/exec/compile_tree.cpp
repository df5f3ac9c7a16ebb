// compile_tree(): a function of nested inputs and results, as a compiled function of their leaves.
#include <algorithm>
#include <mutex>

#include "base/result.h"
#include "cleave/tree.h"
#include "trace/recording.h"

namespace cleave {

struct CompiledTree::State {
  // What instances share. The results' shape is known when the function was called, which a run
  // with other sizes may do again.
  struct Shape {
    Tree<InputSpec> inputs;
    std::mutex mutex;
    std::optional<Tree<InputSpec>> results;  // leaves are empty
  };
  std::shared_ptr<Shape> shape;
  CompiledFunction function;
};

namespace {

using Kind = Tree<InputSpec>::Kind;

template <class Leaf>
bool is(const Tree<Leaf>& t, Kind kind) {
  return static_cast<Kind>(t.kind()) == kind;
}

// Specs in order, named by their paths.
void list_specs(const Tree<InputSpec>& t, const std::string& path, std::vector<InputSpec>& out) {
  if (is(t, Kind::leaf)) {
    out.push_back(t.leaf());
    if (!path.empty()) out.back().name = path;
  }
  const std::string stem = path.empty() ? "" : path + ".";
  for (size_t k = 0; k < t.size(); ++k)
    list_specs(t[k], stem + (is(t, Kind::map) ? t.keys()[k] : std::to_string(k)), out);
}

// The tree of the same shape with the leaves in order.
template <class To, class From>
Tree<To> rebuilt(const Tree<From>& shape, std::span<To>& leaves) {
  if (is(shape, Kind::number)) return shape.number();
  if (is(shape, Kind::leaf)) {
    Tree<To> leaf(std::move(leaves.front()));
    leaves = leaves.subspan(1);
    return leaf;
  }
  std::vector<Tree<To>> items;
  for (size_t k = 0; k < shape.size(); ++k) items.push_back(rebuilt(shape[k], leaves));
  if (is(shape, Kind::list)) return Tree<To>::list(std::move(items));
  std::vector<std::pair<std::string, Tree<To>>> entries;
  for (size_t k = 0; k < items.size(); ++k)
    entries.emplace_back(shape.keys()[k], std::move(items[k]));
  return Tree<To>::map(std::move(entries));
}

Tree<InputSpec> results_of(const Tree<Tensor>& t, Tensors& leaves) {
  if (is(t, Kind::number)) return t.number();
  if (is(t, Kind::leaf)) {
    leaves.push_back(t.leaf());
    return InputSpec();
  }
  std::vector<Tree<InputSpec>> items;
  for (size_t k = 0; k < t.size(); ++k) items.push_back(results_of(t[k], leaves));
  if (is(t, Kind::list)) return Tree<InputSpec>::list(std::move(items));
  std::vector<std::pair<std::string, Tree<InputSpec>>> entries;
  for (size_t k = 0; k < items.size(); ++k) entries.emplace_back(t.keys()[k], std::move(items[k]));
  return Tree<InputSpec>::map(std::move(entries));
}

bool equal(const Number& a, const Number& b) {
  return a.kind() == b.kind() && a.integer() == b.integer() &&
         (a.floating() == b.floating() ||
          (a.floating() != a.floating() && b.floating() != b.floating()));
}

HostTensor tensor_of(const Number& n, DType dtype) {
  if (dtype != DType::i64) return HostTensor::scalar(n.floating(), dtype);
  HostTensor t(dtype, {});
  t.at<int64_t>({}) =
      n.kind() == Number::Kind::floating ? static_cast<int64_t>(n.floating()) : n.integer();
  return t;
}

// Whether the tree has the shape of the specs.
template <class Leaf>
bool matches(const Tree<InputSpec>& specs, const Tree<Leaf>& t) {
  if (is(specs, Kind::leaf))
    return is(t, Kind::leaf) || (is(t, Kind::number) && specs.leaf().shape.dims().empty());
  if (is(specs, Kind::number)) return is(t, Kind::number) && equal(t.number(), specs.number());
  if (!is(t, specs.kind()) || t.size() != specs.size()) return false;
  for (size_t k = 0; k < specs.size(); ++k) {
    const bool is_map = is(specs, Kind::map);
    if (is_map && !t.contains(specs.keys()[k])) return false;
    if (!matches(specs[k], is_map ? t[specs.keys()[k]] : t[k])) return false;
  }
  return true;
}

// Leaves in the order of the specs, which the tree matches; numbers become tensors.
template <class AnyTree, class Leaf>
void list_leaves(const Tree<InputSpec>& specs, AnyTree& t, std::vector<Leaf>& out) {
  if (is(specs, Kind::leaf)) {
    if (is(t, Kind::number))
      out.push_back(Leaf(tensor_of(t.number(), specs.leaf().dtype)));
    else if constexpr (std::is_const_v<AnyTree>)
      out.push_back(t.leaf());
    else
      out.push_back(std::move(t.leaf()));
  }
  for (size_t k = 0; k < specs.size(); ++k)
    list_leaves(specs[k], is(specs, Kind::map) ? t[specs.keys()[k]] : t[k], out);
}

template <class Leaf>
[[noreturn]] void refuse_shape(const Tree<Leaf>& given, const Tree<InputSpec>& specs) {
  throw_failure(
      user_error("compile: inputs are {}, expected {}", given.shape_text(), specs.shape_text()));
}

Tree<HostTensor> results(const CompiledTree::State& s, HostTensors leaves) {
  const std::lock_guard lock(s.shape->mutex);
  std::span<HostTensor> rest(leaves);
  return rebuilt(*s.shape->results, rest);
}

CompiledTree compiled(const nn::Module* model, const TreeFunction& function,
                      const Tree<InputSpec>& inputs, const CompileOptions& options, Location at) {
  if (!function) trace::refuse(at, "compile: there is no function");
  auto state = std::make_shared<CompiledTree::State>();
  state->shape = std::make_shared<CompiledTree::State::Shape>();
  state->shape->inputs = inputs;
  const TracedFunction flat([function, at, shape = state->shape](const Tensors& given) {
    Tensors leaves = given, out;
    std::span<Tensor> rest(leaves);
    const Tree<Tensor> in = rebuilt(shape->inputs, rest);
    Tree<InputSpec> made = results_of(function(in), out);
    const std::lock_guard lock(shape->mutex);
    if (!shape->results)
      shape->results = std::move(made);
    else if (made.shape_text() != shape->results->shape_text())
      trace::refuse(at, "compile: results are {}, expected {}", made.shape_text(),
                    shape->results->shape_text());
    return out;
  });
  std::vector<InputSpec> specs;
  list_specs(inputs, "", specs);
  state->function =
      model ? compile(*model, flat, specs, options, at) : compile(flat, specs, options, at);
  return CompiledTree(std::move(state));
}

}  // namespace

CompiledTree compile_tree(const nn::Module& model, const TreeFunction& function,
                          const Tree<InputSpec>& inputs, const CompileOptions& options,
                          Location at) {
  return compiled(&model, function, inputs, options, at);
}

CompiledTree compile_tree(const TreeFunction& function, const Tree<InputSpec>& inputs,
                          const CompileOptions& options, Location at) {
  return compiled(nullptr, function, inputs, options, at);
}

CompiledTree::State& CompiledTree::state() const {
  if (!state_) throw_failure(user_error("CompiledTree: it is empty; compile_tree() makes one"));
  return *state_;
}

Tree<HostTensor> CompiledTree::run(const Tree<InputRef>& inputs) {
  State& s = state();
  if (!matches(s.shape->inputs, inputs)) refuse_shape(inputs, s.shape->inputs);
  std::vector<InputRef> leaves;
  list_leaves(s.shape->inputs, inputs, leaves);
  return results(s, s.function.run(leaves));
}

Tree<HostTensor> CompiledTree::run_boxed(Tree<HostTensor>&& inputs) {
  State& s = state();
  if (!matches(s.shape->inputs, inputs)) refuse_shape(inputs, s.shape->inputs);
  HostTensors leaves;
  list_leaves(s.shape->inputs, inputs, leaves);
  inputs = {};
  return results(s, s.function.run(std::move(leaves)));
}

CompiledTree CompiledTree::instance() const {
  auto other = std::make_shared<State>();
  other->shape = state().shape;
  other->function = state().function.instance();
  return CompiledTree(std::move(other));
}

const CompiledFunction& CompiledTree::function() const { return state().function; }

}  // namespace cleave
