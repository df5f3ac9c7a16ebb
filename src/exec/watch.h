// The values that CompileOptions::watch names, from the recorded function to the program's results.
//
//   Watch watch(options.compile.watch);
//   watch.find(g);               each time the graph has grown: names that are there now
//   watch.add_returns(returns);  so that passes keep them; take_returns() reads what they became
//   watch.require_all(g);        names that are still missing are errors
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

class Watch {
 public:
  explicit Watch(const std::vector<std::string>& names);

  bool has(const std::string& name) const { return values_.contains(name); }
  void set(const std::string& name, ValueId v) {
    values_[name] = v;
    std::erase(missing_, name);
  }
  // Names that are wanted and not found yet.
  const std::vector<std::string>& missing() const { return missing_; }

  void find(const Graph& g);
  void add_returns(std::vector<Return>& returns) const;
  // Reads back what add_returns added from position k on; k becomes that after the last.
  void take_returns(const Graph& g, size_t& k);
  // Error (user): a name is no value of the graph; the message suggests the nearest one.
  Status require_all(const Graph& g) const;
  // The position of each name's value in `return`, if add_returns adds them from `first` on.
  std::map<std::string, size_t> positions(size_t first) const;

 private:
  std::map<std::string, ValueId> values_;
  std::vector<std::string> missing_;
};

// A value's name without the % before it.
std::string plain_name(const std::string& name);
// The position of a watched value. Error (user): it isn't watched; the message names those that
// are.
Result<size_t> watched_position(const std::string& what,
                                const std::map<std::string, size_t>& positions,
                                const std::string& name);

}  // namespace cleave
