// Modules: named parameters and buffers, and the layers made of them. State names, default initial
// values and forward semantics are those of torch.nn (PyTorch 2.13).
//
//   struct Mlp : nn::Module {
//     nn::Linear fc1, fc2;
//     explicit Mlp(Generator& rng)
//         : fc1(add_module("fc1", nn::Linear(2, 64, rng))),
//           fc2(add_module("fc2", nn::Linear(64, 1, rng))) {}
//     Tensor operator()(const Tensor& x) const { return fc2(relu(fc1(x))); }
//   };
//   Generator rng(42);
//   Mlp model(rng);  // parameters fc1.weight [64,2], fc1.bias [64], fc2.weight, ...
//
// This header has the modules of dense networks; the rest are in cleave/nn_activation.h, nn_norm.h,
// nn_spatial.h, nn_recurrent.h and nn_transformer.h.
//
// A Module is a handle: a copy is the same module with the same parameters. Constructors draw
// initial values from the Generator in the order of the calls. Errors (user): a name that is
// already used or has characters other than letters, digits, _ and -; sizes below 1.
#pragma once
#include <concepts>
#include <functional>

#include "cleave/function.h"
#include "cleave/generator.h"
#include "cleave/loss.h"

namespace cleave::trace {
struct ModulePaths;
}

namespace cleave::nn {

struct ModuleState;
struct CloneMap;

class CLEAVE_API Module {
 public:
  Module();
  // A module that was moved from is still the same one.
  Module(const Module& other);
  Module& operator=(const Module&) = default;

  // ---- building
  Variable add_parameter(const std::string& name, HostTensor initial);
  // Buffers aren't trained; `persistent` ones are saved with the parameters.
  Variable add_buffer(const std::string& name, HostTensor initial, bool persistent = true);
  // Registers a child under `name`, and returns it.
  template <std::derived_from<Module> M>
  M add_module(const std::string& name, M child) {
    add_child(name, child);
    return child;
  }
  // Replaces the parameter `name` of this module by another one of the same type: tied weights.
  //   head.share("weight", wte.parameter("weight"));
  void share(const std::string& name, const Variable& other);

  // ---- state
  // "fc1.weight" names a parameter of a child. Error (user): no such parameter.
  Variable parameter(const std::string& path) const;
  // The module's own first, then the children's; each Variable once, under its first name.
  std::vector<std::pair<std::string, Variable>> named_parameters() const;
  std::vector<std::pair<std::string, Variable>> named_buffers() const;
  // Parameters and persistent buffers under all their names: PyTorch's state_dict.
  Store store() const;
  int64_t parameter_count() const;  // elements

  // ---- mode of this module and its children; new modules are in training mode
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const;
  // false freezes every parameter.
  void set_requires_grad(bool on);

  // ---- the values of another module of the same names, dtypes and shapes (the names of both that
  // don't fit are an error, user, which changes nothing). With tau below 1, floating parameters p
  // become tau * other + (1 - tau) * p, computed in f64: a target network's. Buffers are copied.
  void copy_from(const Module& other, double tau = 1);

 protected:
  // Error (user): a list of `size` modules has none with this number.
  static void require_item(size_t number, size_t size);
  // While it lives, errors of operations on this thread name this module by its path in the model
  // that is traced. Calls of cleave's layers have one; those of your own modules may have one too:
  //   Tensor operator()(const Tensor& x) const {
  //     const Call call(*this);
  class CLEAVE_API Call {
   public:
    explicit Call(const Module& module);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    const void* outer_;
  };

 private:
  friend class Cloning;
  friend struct trace::ModulePaths;
  void add_child(const std::string& name, const Module& child);
  std::shared_ptr<ModuleState> state_;
};

// While one lives, copies of handles of `from` and its children, made by this thread, are handles
// of the clone.
class CLEAVE_API Cloning {
 public:
  explicit Cloning(const Module& from);
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;
  ~Cloning();

 private:
  std::unique_ptr<CloneMap> map_;
};
// A module of its own with the same values, modes, frozen parameters and ties: a target network, a
// teacher. Copies the object, and with it each module and Variable of this module that the object
// holds: as a member, in a container, or in a lambda that captured it by value. What it holds by
// pointer or reference is still the original's, as is a Variable that isn't registered.
template <std::derived_from<Module> M>
M clone(const M& module) {
  const Cloning cloning(module);
  return M(module);
}

// y = x @ weight^T + bias. weight [out,in] and bias [out] are initially uniform in +-1/sqrt(in).
class CLEAVE_API Linear : public Module {
 public:
  struct Options {
    bool bias = true;
    DType dtype = DType::f32;
  };
  Linear(int64_t in_features, int64_t out_features, Generator& rng)
      : Linear(in_features, out_features, rng, Options{}) {}
  Linear(int64_t in_features, int64_t out_features, Generator& rng, const Options& options);
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 private:
  bool bias_;
};

// Returns rows of weight [num_embeddings,embedding_dim], initially normal(0, 1); row padding_idx is
// 0 and not trained.
class CLEAVE_API Embedding : public Module {
 public:
  struct Options {
    std::optional<int64_t> padding_idx = std::nullopt;
    DType dtype = DType::f32;
  };
  Embedding(int64_t num_embeddings, int64_t embedding_dim, Generator& rng)
      : Embedding(num_embeddings, embedding_dim, rng, Options{}) {}
  Embedding(int64_t num_embeddings, int64_t embedding_dim, Generator& rng, const Options& options);
  Tensor operator()(const Tensor& indices, Location at = Location::current()) const;

 private:
  int64_t padding_idx_ = -1;
};

// Normalizes over the last dims; weight is initially 1, bias 0.
class CLEAVE_API LayerNorm : public Module {
 public:
  struct Options {
    double eps = 1e-5;
    bool elementwise_affine = true;
    bool bias = true;
    DType dtype = DType::f32;
  };
  explicit LayerNorm(std::vector<int64_t> normalized_shape)
      : LayerNorm(std::move(normalized_shape), Options{}) {}
  LayerNorm(std::vector<int64_t> normalized_shape, const Options& options);
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 private:
  std::vector<int64_t> shape_;
  Options options_;
};

// Drops with probability p while the module is in training and the program is a training step.
class CLEAVE_API Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5) : p_(p) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 private:
  double p_;
};

// batch_first: query [N,L,E], key and value [N,S,E] -> [N,L,E]. Initially in_proj_weight [3E,E] is
// Xavier uniform and biases are 0; out_proj is a child Linear.
class CLEAVE_API MultiheadAttention : public Module {
 public:
  struct Options {
    double dropout = 0;
    bool bias = true;
    DType dtype = DType::f32;
  };
  struct Masks {
    Tensor key_padding_mask = {};  // bool [N,S]: true is masked out; floating is added
    Tensor attn_mask = {};         // [L,S] or [N*heads,L,S]: bool, true is masked out; or added
    bool is_causal = false;        // each position attends to itself and earlier ones
  };
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, Generator& rng)
      : MultiheadAttention(embed_dim, num_heads, rng, Options{}) {}
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, Generator& rng, const Options& options);
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    Location at = Location::current()) const {
    return (*this)(query, key, value, Masks{}, at);
  }
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Masks& masks,
                    Location at = Location::current()) const;

 private:
  int64_t embed_dim_, num_heads_;
  Options options_;
  Linear out_proj_;
};

// Activations as modules, for Sequential.
#define CLEAVE_ACTIVATION(Name, function)                                         \
  struct CLEAVE_API Name : Module {                                               \
    Tensor operator()(const Tensor& x, Location at = Location::current()) const { \
      return function(x, at);                                                     \
    }                                                                             \
  };
CLEAVE_ACTIVATION(ReLU, cleave::relu)
CLEAVE_ACTIVATION(Tanh, cleave::tanh)
CLEAVE_ACTIVATION(Sigmoid, cleave::sigmoid)
CLEAVE_ACTIVATION(SiLU, cleave::silu)
CLEAVE_ACTIVATION(Softplus, cleave::softplus)
#undef CLEAVE_ACTIVATION

class CLEAVE_API GELU : public Module {
 public:
  explicit GELU(std::string approximate = "none") : approximate_(std::move(approximate)) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return gelu(x, approximate_, at);
  }

 private:
  std::string approximate_;
};

class CLEAVE_API Softmax : public Module {
 public:
  explicit Softmax(int64_t dim) : dim_(dim) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return softmax(x, dim_, at);
  }

 private:
  int64_t dim_;
};

class CLEAVE_API Flatten : public Module {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1)
      : start_(start_dim), end_(end_dim) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return x.flatten(start_, end_, at);
  }

 private:
  int64_t start_, end_;
};

// Applies modules in sequence, named 0, 1, ... Accepts any Module that maps a Tensor to a Tensor,
// and functions of one Tensor, which have no parameters: Sequential(linear, relu_twice, linear).
class CLEAVE_API Sequential : public Module {
 public:
  Sequential() = default;
  template <class... M>
    requires(sizeof...(M) > 0 && !(sizeof...(M) == 1 && (std::same_as<M, Sequential> && ...)))
  explicit Sequential(const M&... modules) {
    (push_back(modules), ...);
  }
  template <class M>
  void push_back(const M& module) {
    if constexpr (std::derived_from<M, Module>) {
      add_module(std::to_string(steps_.size()), module);
      steps_.push_back([module](const Tensor& x, Location at) {
        const Call call(module);
        return called(module, x, at);
      });
    } else {
      steps_.push_back([module](const Tensor& x, Location at) { return called(module, x, at); });
    }
  }
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    const Call call(*this);
    Tensor y = x;
    for (const auto& step : steps_) y = step(y, at);
    return y;
  }

 private:
  template <class M>
  static Tensor called(const M& module, const Tensor& x, Location at) {
    if constexpr (std::invocable<const M&, const Tensor&, Location>)
      return module(x, at);
    else
      return module(x);
  }
  std::vector<std::function<Tensor(const Tensor&, Location)>> steps_;
};

// Modules of one type, named 0, 1, ...
template <std::derived_from<Module> M>
class ModuleList : public Module {
 public:
  void push_back(M module) {
    items_.push_back(add_module(std::to_string(items_.size()), std::move(module)));
  }
  size_t size() const { return items_.size(); }
  // Error (user): i is not below size().
  const M& operator[](size_t i) const {
    this->require_item(i, items_.size());
    return items_[i];
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<M> items_;
};

}  // namespace cleave::nn
