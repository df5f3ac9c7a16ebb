#include "inspect/reduce_graph.h"

#include <algorithm>
#include <unordered_set>

#include "inspect/reduce_steps.h"
#include "inspect/smaller_sizes.h"
#include "ir/text.h"

namespace cleave {
namespace {

class Reducer {
 public:
  Reducer(GivenGraph given, const Fails& fails, const Smaller& smaller)
      : best_(std::move(given)), fails_(fails), smaller_(smaller) {}

  GivenGraph run() {
    begin();
    size_t returns = best_.g.returns().size(), calls = best_.g.node_count();
    do {
      changed_ = false;
      drop_returns(returns);
      drop_calls(calls);
      bypass_calls();
      drop_inputs();
      attempt(with_fixed_sizes(best_));
      shrink_sizes();
      returns = calls = 1;  // from here on one by one
    } while (changed_);
    return std::move(best_);
  }

 private:
  // Takes the candidate if it fails.
  bool attempt(std::optional<GivenGraph> candidate) {
    if (!candidate) return false;
    if (tidies_) tidy(*candidate);
    if (!verify(candidate->g).ok()) return false;
    if (!tried_.insert(std::hash<std::string>()(print(candidate->g))).second) return false;
    if (!fails_(*candidate)) return false;
    best_ = *std::move(candidate);
    changed_ = true;
    if (smaller_) smaller_(best_);
    return true;
  }

  // From now on what nothing needs goes by itself, unless the graph doesn't fail without it.
  void begin() {
    attempt(without_roles(best_));
    GivenGraph tidied = best_;
    tidy(tidied);
    tidies_ = print(tidied.g) == print(best_.g) || attempt(std::move(tidied));
  }

  // Leaves out parts of a list, `part` items at once, then half as many, and so on down to one.
  // `without` tries to, and makes the list shorter if that fails.
  template <class Size, class Without>
  void halve(size_t part, const Size& size, const Without& without) {
    for (part = std::max<size_t>(part, 1);; part = (part + 1) / 2) {
      for (size_t at = 0; at < size();) {
        const size_t before = size();
        if (!without(at, std::min(at + part, before)) || size() >= before) at += part;
      }
      if (part == 1) return;
    }
  }

  void drop_returns(size_t part) {
    halve((part + 1) / 2, [&] { return best_.g.returns().size(); },
          [&](size_t begin, size_t end) { return attempt(without_returns(best_, begin, end)); });
  }

  void drop_calls(size_t part) {
    halve((part + 1) / 2, [&] { return best_.g.node_count(); },
          [&](size_t begin, size_t end) {
            const std::vector<NodeId> order = best_.g.order();
            const std::span calls = std::span(order).subspan(begin, end - begin);
            return attempt(calls_as_inputs(best_, calls, values())) ||
                   attempt(calls_cut_out(best_, calls, values()));
          });
  }

  bool bypass(NodeId call) {
    const Node& node = best_.g.node(call);
    for (uint32_t k = 0; k < node.output_count; ++k)
      for (size_t operand = 0; operand < node.inputs.size(); ++operand)
        if (attempt(call_bypassed(best_, call, k, operand))) {
          values_.reset();  // others than before
          return true;
        }
    return false;
  }
  void bypass_calls() {
    for (size_t at = 0; at < best_.g.node_count();)
      if (!bypass(best_.g.order()[at])) ++at;
  }

  void drop_inputs() {
    for (size_t at = 0; at < best_.g.placeholders().size(); ++at) {
      attempt(as_input(best_, at));
      attempt(without_mark(best_, at));
      if (at < best_.g.placeholders().size() && attempt(without_input(best_, at))) --at;
    }
  }

  bool shrink(int64_t size) {
    for (const int64_t to : {int64_t{1}, size / 2})
      for (const AlongWith with : {AlongWith::multiples, AlongWith::equal, AlongWith::nothing})
        if (attempt(with_size(best_, size, to, with))) {
          values_.reset();
          return true;
        }
    return false;
  }
  bool shrink(size_t input, size_t dim) {
    const Dim& size = best_.g.type(best_.g.placeholders()[input].value).shape[dim];
    if (!size.is_const() || size.value() < 2) return false;
    for (const int64_t to : {int64_t{1}, size.value() / 2})
      if (attempt(with_dim(best_, input, dim, to))) {
        values_.reset();
        return true;
      }
    return false;
  }
  void shrink_sizes() {
    for (bool again = true; again;) {
      again = false;
      for (const int64_t size : sizes_of_inputs(best_.g)) again |= shrink(size);
    }
    for (size_t k = 0; k < best_.g.placeholders().size(); ++k)
      for (size_t d = 0; d < best_.g.type(best_.g.placeholders()[k].value).shape.size(); ++d)
        while (shrink(k, d)) {}
  }

  const NamedValues& values() {
    if (!values_) values_ = has_inputs(best_) ? values_of(best_) : NamedValues();
    return *values_;
  }

  GivenGraph best_;
  const Fails& fails_;
  const Smaller& smaller_;
  std::optional<NamedValues> values_;
  std::unordered_set<size_t> tried_;  // hashes of texts
  bool tidies_ = false, changed_ = false;
};

}  // namespace

GivenGraph reduced(GivenGraph given, const Fails& fails, const Smaller& smaller) {
  return Reducer(std::move(given), fails, smaller).run();
}

}  // namespace cleave
