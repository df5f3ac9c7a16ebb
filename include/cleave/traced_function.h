// A function of Tensors that is called once, to record its operations.
#pragma once
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "cleave/function.h"

namespace cleave {

// The functions that train_step, compile, cond and while_loop call: they take the inputs and return
// one Tensor or several.
class TracedFunction {
 public:
  using Form = std::function<Tensors(const Tensors& inputs)>;

  // Accepts any callable of as many Tensors as there are inputs (up to 8), or of one Tensors. An
  // empty std::function or a null pointer makes an empty one, which who is given it refuses.
  template <class F>
    requires(!std::derived_from<std::decay_t<F>, TracedFunction>)
  TracedFunction(F f) {
    if (is_null(f)) return;
    // In this order: to ask whether a generic lambda takes a Tensors would compile its body for it.
    constexpr int count = arity_of<F>();
    if constexpr (count >= 0) {
      set(count, [f](const Tensors& in) {
        return invoke(f, in, std::make_index_sequence<static_cast<size_t>(count)>());
      });
    } else {
      static_assert(std::invocable<F, const Tensors&>,
                    "expected a function of up to 8 Tensors, or of a Tensors");
      set(-1, [f](const Tensors& in) { return listed(f(in)); });
    }
  }
  explicit operator bool() const { return form_ != nullptr; }
  int arity() const { return arity_; }  // -1: any
  Tensors operator()(const Tensors& inputs) const { return form_(inputs); }

 private:
  template <class F>
  static bool is_null([[maybe_unused]] const F& f) {
    if constexpr (std::is_pointer_v<F>) return f == nullptr;
    return false;
  }
  template <class Signature>
  static bool is_null(const std::function<Signature>& f) {
    return !f;
  }
  static Tensors listed(Tensor t) { return {std::move(t)}; }
  static Tensors listed(Tensors t) { return t; }
  // The least number of Tensors that it can be called with; -1: none up to 8.
  template <class F, size_t N = 0>
  static constexpr int arity_of() {
    if constexpr (callable<F>(std::make_index_sequence<N>()))
      return N;
    else if constexpr (N < 8)
      return arity_of<F, N + 1>();
    else
      return -1;
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
