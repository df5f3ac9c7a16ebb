// Patterns of calls, as values.
//
//   Pattern x = any("x");
//   call("permute", {call("permute", {x}, {{"dims", bind("p")}}).named("inner")},
//        {{"dims", bind("q")}})
//
//   any(name)            any value
//   number(name), number(v)   a number that stands for an operand; one that equals v
//   absent()             no operand;  optional(p): none, or p
//   call(ops, operands, attributes)   the first result of a call of one of these operators
//   result(call, k)      its result k;  result_of(call): any of its results
//   results(call)        all its results, replaced together: only as what is searched for
//   list({p, q})         a list operand, item by item;  each(p): all items match p
//   either({p, q})       the first that fits
//
// Missing operands at the end match none alone, and an attribute that isn't mentioned must have its
// default. A name that stands twice is one value, a Pattern that is used twice is one call. Inside
// each(p), a name captures one value for each item.
//
// A matched call has no users beside the match unless it is shared(); its checkpoint tag is that of
// the others; it has no effect.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "ir/type.h"

namespace cleave {

// What an attribute has to be.
struct AttrTest {
  enum class Kind : uint8_t { equals, binds, anything };
  Kind kind = Kind::equals;
  AttrValue value;   // equals
  std::string name;  // binds: captured under it

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

  // Captures the value, and the call that makes it.
  Pattern named(std::string name) const;
  // May be read beside the match too; it then stays.
  Pattern shared() const;
  // The first two operands may stand the other way round.
  Pattern commutes() const;
  // Only where the value's type passes.
  Pattern where(std::function<bool(const Type&)> test) const;
  // Below calls of these operators, which are passed over by their first operand.
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
  std::vector<std::string> ops;  // of a call; what `through` passes over
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
