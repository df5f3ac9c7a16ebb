// What a clone of a module has in the place of the original's modules and Variables.
//
// A module's object holds handles of its children beside the tree that they are registered in: as
// members, in vectors, captured by lambdas. Copying the object copies them all, so while a
// nn::Cloning lives, the copy constructors of the handles look here.
#pragma once
#include <map>

#include "trace/module_state.h"

namespace cleave::nn {

struct CloneMap {
  std::map<const ModuleState*, std::shared_ptr<ModuleState>> modules;
  std::map<const trace::VariableState*, trace::VariablePtr> variables;
  const CloneMap* outer = nullptr;  // of the clone() that this one is inside of
};

// The clone's, if this thread is cloning a module that has it; itself otherwise.
std::shared_ptr<ModuleState> clone_of(const std::shared_ptr<ModuleState>& state) noexcept;
trace::VariablePtr clone_of(const trace::VariablePtr& state) noexcept;

}  // namespace cleave::nn
