// A host program that uses the public API at random: handles that were moved from, that are empty
// or of another program, odd sizes, names and options, functions that throw.
//
//   const std::string wrong = misuse::run(17, 40);   // empty: nothing but errors came out
//
// An action takes what it needs from the world, mostly what fits, and leaves there what it made. It
// may throw cleave::Error of kind user or unsupported, or what a function of the host program
// throws. Anything else is wrong, a crash most of all.
//
// Not drawn, because no check could tell: memory that the caller borrows and frees, two threads in
// one action, an Executor that breaks its contract.
#pragma once
#include <functional>
#include <list>
#include <random>
#include <string>
#include <vector>

#include "cleave/cleave.h"

namespace cleave::misuse {

// What functions of the host program throw.
struct HostThrows : std::runtime_error {
  HostThrows() : std::runtime_error("the host program") {}
};

// Handles of one type; the oldest goes when there are too many. References stay valid until
// sweep().
template <class T>
class Pool {
 public:
  void add(T item) {
    if (items_.size() >= 12) gone_.splice(gone_.end(), items_, items_.begin());
    items_.push_back(std::move(item));
  }
  T& any(std::mt19937_64& rng) {
    if (items_.empty() || rng() % 16 == 0) return gone_.emplace_back();
    return *std::next(items_.begin(), static_cast<std::ptrdiff_t>(rng() % items_.size()));
  }
  void sweep() { gone_.clear(); }

 private:
  std::list<T> items_, gone_;
};

struct World {
  std::mt19937_64 rng;
  std::string folder;  // of files, which the world may write

  Pool<HostTensor> arrays = {};
  Pool<Variable> variables = {};
  Pool<Store> stores = {};
  Pool<nn::Module> modules = {};
  Pool<std::function<Tensor(const Tensor&)>> layers = {};  // of modules; may be empty
  Pool<Tensor> tensors = {};                               // leaked from traces, too
  Pool<TrainStep> steps = {};
  Pool<CompiledFunction> functions = {};
  Pool<Operators> operators = {};
  Pool<std::string> texts = {};  // names and paths that were of use
  int depth = 0;                 // of traces

  explicit World(uint64_t seed, std::string folder);
  void sweep();  // between actions

  bool maybe(int one_in) { return rng() % static_cast<uint64_t>(one_in) == 0; }
  int64_t below(int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); }
  template <class T>
  T one_of(std::initializer_list<T> items) {
    return items.begin()[rng() % items.size()];
  }
  HostTensor& array() { return arrays.any(rng); }
  Variable& variable() { return variables.any(rng); }
  Store& store() { return stores.any(rng); }
  nn::Module& module() { return modules.any(rng); }
  Tensor& tensor() { return tensors.any(rng); }
  TrainStep& step() { return steps.any(rng); }
  CompiledFunction& function() { return functions.any(rng); }
  std::string& text() { return texts.any(rng); }

  int64_t size();                // mostly 0 to 4, at times odd
  int64_t number();              // mostly small, at times a limit of int64_t
  double real();                 // mostly small, at times NaN, infinite, negative
  DType dtype();                 // mostly f32
  std::vector<int64_t> shape();  // mostly [4,3]
  // Of a shape; mostly ones by which elements lie apart.
  std::vector<int64_t> strides(const std::vector<int64_t>& shape);
  std::string name();  // mostly one that is used somewhere
  std::string path();
};

using Action = void (*)(World&);
struct NamedAction {
  const char* name;
  Action act;
};
const std::vector<NamedAction>& array_actions();
const std::vector<NamedAction>& module_actions();
const std::vector<NamedAction>& tensor_actions();
const std::vector<NamedAction>& program_actions();
const std::vector<NamedAction>& operator_actions();
const std::vector<NamedAction>& file_actions();

// Adds a training step and a function that work.
void make_good(World& w);
// A function for a trace: some calls on its inputs and on what the world has; may throw.
TracedFunction random_function(World& w, bool is_loss);
// One call on these Tensors and others.
Tensor random_call(World& w, Tensors& known);

// A sequence of `actions` many. Returns what came out that must not; `log`, if given, is told each
// action before it is done.
std::string run(uint64_t seed, int actions, const std::string& folder,
                const std::function<void(const std::string&)>& log = {});

}  // namespace cleave::misuse
