// The state behind an nn::Module.
#pragma once
#include <algorithm>

#include "base/result.h"
#include "cleave/nn.h"
#include "trace/variable_state.h"

namespace cleave::nn {

struct ModuleState {
  struct Slot {
    std::string name;
    Variable variable;
    bool persistent = true;
  };
  std::vector<Slot> parameters, buffers;
  std::vector<std::pair<std::string, std::shared_ptr<ModuleState>>> children;
  bool training = true;

  void require_free(const std::string& name) const {
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    };
    if (name.empty() || !std::ranges::all_of(name, allowed))
      throw_failure(user_error("Module: name: `{}`: expected letters, digits, _ and -", name));
    const auto taken = [&](const Slot& s) { return s.name == name; };
    if (std::ranges::any_of(parameters, taken) || std::ranges::any_of(buffers, taken) ||
        std::ranges::any_of(children, [&](const auto& c) { return c.first == name; }))
      throw_failure(user_error("Module: name: `{}` is taken already", name));
  }

  // Calls f(name, slot, is_parameter) for the whole tree: own parameters, own buffers, children.
  template <class F>
  void visit(const std::string& prefix, const F& f) {
    for (Slot& s : parameters) f(prefix + s.name, s, true);
    for (Slot& s : buffers) f(prefix + s.name, s, false);
    for (const auto& [name, child] : children) child->visit(prefix + name + ".", f);
  }
};

}  // namespace cleave::nn
