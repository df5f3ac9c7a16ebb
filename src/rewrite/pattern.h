// Patterns of calls, as values.
//
//   Pattern x = any("x");
//   call("permute", {call("permute", {x}, {{"dims", bind("p")}}).named("inner")},
//        {{"dims", bind("q")}})
//
//   any(name)            any value
//   number(name), number(v)   a number given for an operand; one that equals v
//   absent()             no operand;  optional(p): none, or p
//   call(ops, operands, attributes)   the first result of a call of one of these operators
//   result(call, k)      its result k;  result_of(call): any of its results
//   results(call)        all its results, replaced together: only at the top of a search
//   list({p, q})         a list operand, item by item;  each(p): all items match p
//   either({p, q})       the first that matches
//
// Operands left out at the end match only none, and an attribute that isn't mentioned must have its
// default. A name that occurs twice must be the same value, a Pattern that is used twice the same
// call. Inside each(p), a name captures one value for each item.
//
// A matched call has no users outside the match unless it is shared(), has the same checkpoint tag
// as the other calls, and has no effect.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "ir/type.h"

namespace cleave {

// The condition on an attribute.
struct AttrTest {
  enum class Kind : uint8_t { equals, binds, anything };
  Kind kind = Kind::equals;
  AttrValue value;   // equals
  std::string name;  // binds: the name that captures it

  AttrTest() = default;
  template <class T>
    requires std::is_constructible_v<AttrValue, T>
  AttrTest(T v) : value(v) {}
  AttrTest(std::initializer_list<int64_t> v) : value(v) {}
};
AttrTest bind(std::string name);
AttrTest anything();
using AttrTests = std::vector<std::pair<std::string, AttrTest>>;

struct PatternNode;

class Pattern {
 public:
  explicit Pattern(PatternNode node);
  const PatternNode& node() const { return *node_; }
  const PatternNode* identity() const { return node_.get(); }

  // Captures the value and the call that defines it.
  Pattern named(std::string name) const;
  // May have users outside the match; it is then kept.
  Pattern shared() const;
  // The first two operands may be swapped.
  Pattern commutes() const;
  // Matches only if `test` accepts the value's type.
  Pattern where(std::function<bool(const Type&)> test) const;
  // May be below calls of these operators, which are skipped along their first operand.
  Pattern through(std::vector<std::string> ops) const;

 private:
  std::shared_ptr<const PatternNode> node_;
};

struct PatternNode {
  enum class Kind : uint8_t {
    any,
    number,
    absent,
    optional,
    call,
    result,
    results,
    list,
    each,
    either,
    through
  };
  Kind kind = Kind::any;
  std::string name;
  std::vector<std::string> ops;  // of a call; those that `through` skips
  std::vector<Pattern> children;
  AttrTests attrs;
  AttrValue value;  // of a number; none: any number
  int index = 0;    // of a result; -1: any
  bool is_shared = false, is_commutative = false;
  std::function<bool(const Type&)> test;
};

Pattern any(std::string name = "");
Pattern number(std::string name);
Pattern number(const char* name);
Pattern number(double value);
Pattern absent();
Pattern optional(Pattern p);
Pattern call(std::string op, std::vector<Pattern> operands = {}, AttrTests attrs = {});
Pattern call(std::vector<std::string> ops, std::vector<Pattern> operands, AttrTests attrs = {});
Pattern result(Pattern call, int k);
Pattern result_of(Pattern call);
Pattern results(Pattern call);
Pattern list(std::vector<Pattern> items);
Pattern each(Pattern item);
Pattern either(std::vector<Pattern> patterns);

}  // namespace cleave
