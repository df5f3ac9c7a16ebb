// --autocast bf16|f16: the forward graph in mixed precision.
#pragma once
#include <optional>

#include "ir/graph.h"
#include "tool/option_list.h"

namespace cleave::tool {

struct AutocastOption {
  std::string text;  // empty: not given

  void add_to(OptionList& options) {
    options.option("--autocast", text, "bf16 or f16: products, convolutions and attention in it");
  }
  // Error (user): anything but bf16, f16 or nothing.
  Result<std::optional<DType>> dtype() const;
  // Rewrites a forward graph if the option is given.
  Status apply(Graph& g, const OpRegistry& ops) const;
};

}  // namespace cleave::tool
