// Nested inputs and results: lists and maps, in each other, of tensors and numbers.
//
//   CompiledTree step = compile_tree(
//       model,
//       [&](const Tree<Tensor>& in) {
//         const auto [y, h] = model(in["x"], in["state"][0]);
//         return Tree<Tensor>::map({{"y", y}, {"state", Tree<Tensor>::list({h})}});
//       },
//       Tree<InputSpec>::map({{"x", InputSpec{.shape = {4, 2}}},
//                             {"state", Tree<InputSpec>::list({InputSpec{.shape = {4, 8}}})}}));
//   Tree<HostTensor> out = step.run(
//       Tree<InputRef>::map({{"x", x}, {"state", Tree<InputRef>::list({h})}}));
//   out["y"].leaf();                                    // f32[4,2]
//   step.run(Tree<InputRef>::map({{"x", x}}));          // error: inputs are {x: *}, expected
//                                                       // {x: *, state: [*]}
//
// Leaves are the program's inputs, in order, lists from 0 on; their names are the paths from the
// root, "x", "state.0", "batch.0.image". A lone tensor keeps the name of its InputSpec, and a lone
// result comes back alone. The text of a shape has * for a tensor: {x: *, state: [*, *], eps: 0.5}.
#pragma once
#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cleave/train.h"

namespace cleave {

template <class Leaf>
class Tree;

template <class T>
constexpr bool is_tree = false;
template <class Leaf>
constexpr bool is_tree<Tree<Leaf>> = true;

// Leaf is Tensor in a function that is traced, InputSpec of what it is compiled for, InputRef of
// what a run reads, HostTensor of what it returns. Errors (user) of what is asked for and isn't
// there: they show the shape. Also a map with one key twice.
template <class Leaf>
class CLEAVE_API Tree {
 public:
  enum class Kind : uint8_t { leaf, number, list, map };

  Tree() = default;  // an empty list
  template <class T>
    requires(!is_tree<std::remove_cvref_t<T>> && std::convertible_to<T &&, Leaf>)
  Tree(T&& leaf) : kind_(Kind::leaf) {
    leaf_.push_back(std::forward<T>(leaf));
  }
  // A constant of the program in a tree of InputSpecs or results. A run may give one for an input
  // of 0 dims.
  template <class T>
    requires(std::integral<T> || std::floating_point<T>)
  Tree(T number) : kind_(Kind::number), number_(number) {}
  Tree(const Number& number) : kind_(Kind::number), number_(number) {}
  static Tree list(std::vector<Tree> items);
  static Tree map(std::vector<std::pair<std::string, Tree>> items);
  // The same with other leaves that refer to these: of what a run returned, to be given again.
  template <class Other>
    requires(!std::same_as<Other, Leaf> && std::constructible_from<Leaf, Other&>)
  Tree(Tree<Other>& of) {
    refer_to(of);
  }
  template <class Other>
    requires(!std::same_as<Other, Leaf> && std::constructible_from<Leaf, const Other&>)
  Tree(const Tree<Other>& of) {
    refer_to(of);
  }
  template <class Other>
    requires(!std::same_as<Other, Leaf>)
  Tree(Tree<Other>&& of) = delete;  // its leaves end with it

  Kind kind() const { return kind_; }
  const Leaf& leaf() const;
  Leaf& leaf();
  operator const Leaf&() const { return leaf(); }
  const Number& number() const;
  // Of a list or a map, in order.
  size_t size() const { return items_.size(); }
  template <std::integral I>
  const Tree& operator[](I k) const {
    return item(static_cast<size_t>(k));
  }
  template <std::integral I>
  Tree& operator[](I k) {
    return const_cast<Tree&>(item(static_cast<size_t>(k)));
  }
  const Tree& operator[](std::string_view key) const { return item(key); }
  Tree& operator[](std::string_view key) { return const_cast<Tree&>(item(key)); }
  bool contains(std::string_view key) const;
  const std::vector<std::string>& keys() const { return keys_; }  // of a map

  // "{x: *, state: [*, *], eps: 0.5}".
  std::string shape_text() const;

 private:
  const Tree& item(size_t k) const;
  const Tree& item(std::string_view key) const;
  template <class From>
  void refer_to(From& of) {
    kind_ = static_cast<Kind>(of.kind());
    if (kind_ == Kind::leaf) leaf_.push_back(Leaf(of.leaf()));
    if (kind_ == Kind::number) number_ = of.number();
    keys_ = of.keys();
    for (size_t k = 0; k < of.size(); ++k) items_.push_back(Tree(of[k]));
  }

  Kind kind_ = Kind::list;
  std::vector<Leaf> leaf_;  // of a leaf: it
  Number number_ = 0;
  std::vector<std::string> keys_;
  std::vector<Tree> items_;
};

extern template class Tree<Tensor>;
extern template class Tree<InputSpec>;
extern template class Tree<InputRef>;
extern template class Tree<HostTensor>;

using TreeFunction = std::function<Tree<Tensor>(const Tree<Tensor>& inputs)>;

// A handle, as a CompiledFunction is.
class CLEAVE_API CompiledTree {
 public:
  CompiledTree() = default;
  // Maps go by key, in any order. Error (user): inputs of another shape than the specs', which
  // shows both; and those of CompiledFunction::run.
  Tree<HostTensor> run(const Tree<InputRef>& inputs);
  // Frees each input behind its last reader, and leaves an empty list.
  template <std::same_as<Tree<HostTensor>> T>  // a template, so that a lone tensor is no such tree
  Tree<HostTensor> run(T&& inputs) {
    return run_boxed(std::forward<T>(inputs));
  }
  // As of a CompiledFunction.
  CompiledTree instance() const;
  // The same program with its inputs and results in a row.
  const CompiledFunction& function() const;

  struct State;
  explicit CompiledTree(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  Tree<HostTensor> run_boxed(Tree<HostTensor>&& inputs);
  State& state() const;
  std::shared_ptr<State> state_;
};

// As compile(). Errors (user) beside those: with sizes that vary, results of another shape for some
// of them.
CLEAVE_API CompiledTree compile_tree(const nn::Module& model, const TreeFunction& function,
                                     const Tree<InputSpec>& inputs,
                                     const CompileOptions& options = {},
                                     Location at = Location::current());
CLEAVE_API CompiledTree compile_tree(const TreeFunction& function, const Tree<InputSpec>& inputs,
                                     const CompileOptions& options = {},
                                     Location at = Location::current());

}  // namespace cleave
