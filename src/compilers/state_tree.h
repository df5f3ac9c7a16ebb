// The modules that a model's names of parameters imply: "layers.0.weight" is the parameter `weight`
// of the child `0` of the child `layers`.
#pragma once
#include <map>
#include <set>
#include <string>

#include "cleave/nn.h"

namespace cleave {

class StateTree {
 public:
  explicit StateTree(const nn::Module& root) { modules_.emplace("", root); }

  Variable add_parameter(const std::string& path, HostTensor value);
  Variable add_buffer(const std::string& path, HostTensor value);
  // Another name of a parameter. The name of what is no parameter is left alone.
  void tie(const std::string& path, const Variable& other);

 private:
  struct Place {
    nn::Module module;
    std::string name;
  };
  // Characters that no name of a module has become '_', as do the dots where a parameter has a
  // module's name; '_' is appended while the name is taken.
  Place place(const std::string& path);

  std::map<std::string, nn::Module> modules_;  // by path
  std::set<std::string> taken_;                // paths of parameters and buffers
};

}  // namespace cleave
