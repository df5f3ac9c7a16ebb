#include "compilers/state_tree.h"

#include <algorithm>

namespace cleave {
namespace {

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string allowed(std::string part) {
  std::ranges::replace_if(part, [](char c) { return !is_allowed(c); }, '_');
  return part.empty() ? "_" : part;
}

}  // namespace

StateTree::Place StateTree::place(const std::string& path) {
  std::string at;
  size_t begin = 0;
  nn::Module module = modules_.at("");
  for (size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1) {
    const std::string name = allowed(path.substr(begin, dot - begin));
    const std::string next = at.empty() ? name : at + "." + name;
    if (taken_.contains(next)) break;
    auto known = modules_.find(next);
    if (known == modules_.end())
      known = modules_.emplace(next, module.add_module(name, nn::Module())).first;
    module = known->second;
    at = next;
  }
  const std::string prefix = at.empty() ? "" : at + ".";
  std::string name = allowed(path.substr(begin));
  while (taken_.contains(prefix + name) || modules_.contains(prefix + name)) name += '_';
  taken_.insert(prefix + name);
  return {module, name};
}

Variable StateTree::add_parameter(const std::string& path, HostTensor value) {
  Place to = place(path);
  return to.module.add_parameter(to.name, std::move(value));
}

Variable StateTree::add_buffer(const std::string& path, HostTensor value) {
  Place to = place(path);
  return to.module.add_buffer(to.name, std::move(value));
}

void StateTree::tie(const std::string& path, const Variable& other) {
  if (!other.defined() || other.kind() != VariableKind::parameter) return;
  Place to = place(path);
  to.module.add_parameter(to.name, HostTensor(other.dtype(), other.shape()));
  to.module.share(to.name, other);
}

}  // namespace cleave
