// The optimizer of a training step, which the step keeps if it has to trace again (dyn()).
#pragma once
#include <concepts>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "cleave/optim.h"

namespace cleave {

class OptimizerRef {
 public:
  // A copy of one that is given by its own type. One that is given by a base of its type can't be
  // copied, and is referred to while the step is made.
  template <std::derived_from<optim::Optimizer> O>
  OptimizerRef(const O& optimizer) {
    if constexpr (std::copy_constructible<O>) {
      if (typeid(optimizer) == typeid(O)) {
        held_ = std::make_shared<const O>(optimizer);
        is_kept_ = true;
        return;
      }
    }
    held_ = std::shared_ptr<const optim::Optimizer>(std::shared_ptr<void>(), &optimizer);
  }
  template <std::derived_from<optim::Optimizer> O>
  OptimizerRef(std::shared_ptr<O> optimizer) : held_(std::move(optimizer)), is_kept_(true) {}

  const std::shared_ptr<const optim::Optimizer>& optimizer() const { return held_; }
  bool is_kept() const { return is_kept_; }

 private:
  std::shared_ptr<const optim::Optimizer> held_;
  bool is_kept_ = false;
};

}  // namespace cleave
