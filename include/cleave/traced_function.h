// A function of Tensors that is called once, to record its operations.
#pragma once
#include <concepts>
#include <functional>
#include <utility>

#include "cleave/function.h"

namespace cleave {

// The functions that train_step, compile, cond and while_loop call: they take the inputs and return
// one Tensor or several.
class TracedFunction {
 public:
  using Form = std::function<Tensors(const Tensors& inputs)>;

  // Accepts any callable of as many Tensors as there are inputs (up to 8), or of one Tensors.
  template <class F>
    requires(!std::derived_from<std::decay_t<F>, TracedFunction>)
  TracedFunction(F f) {
    if constexpr (std::invocable<F, const Tensors&> && !std::invocable<F, const Tensor&>)
      set(-1, [f](const Tensors& in) { return listed(f(in)); });
    else
      bind<0>(std::move(f));
  }
  int arity() const { return arity_; }  // -1: any
  Tensors operator()(const Tensors& inputs) const { return form_(inputs); }

 private:
  static Tensors listed(Tensor t) { return {std::move(t)}; }
  static Tensors listed(Tensors t) { return t; }
  template <size_t N, class F>
  void bind(F f) {
    static_assert(N <= 8, "expected a function of up to 8 Tensors, or of a Tensors");
    if constexpr (callable<F>(std::make_index_sequence<N>()))
      set(N, [f](const Tensors& in) { return invoke(f, in, std::make_index_sequence<N>()); });
    else
      bind<N + 1>(std::move(f));
  }
  template <class F, size_t... I>
  static constexpr bool callable(std::index_sequence<I...>) {
    return std::invocable<F, decltype((void(I), std::declval<const Tensor&>()))...>;
  }
  template <class F, size_t... I>
  static Tensors invoke(const F& f, [[maybe_unused]] const Tensors& in, std::index_sequence<I...>) {
    return listed(f(in[I]...));
  }
  void set(int arity, Form form) {
    arity_ = arity;
    form_ = std::move(form);
  }

  int arity_ = -1;
  Form form_;
};

}  // namespace cleave
