// Sequences and optionals: lists of values while the model is imported, nothing in the program.
#include <algorithm>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

Value sequence(std::vector<Value> items) {
  Value v;
  v.kind = Value::Kind::sequence;
  v.items = std::move(items);
  return v;
}

Result<std::vector<Value>> items_of(const Call& c, size_t i) {
  if (!c.has(i) || c.value(i).kind != Value::Kind::sequence)
    return user_error("operand {} is no sequence", i);
  return c.value(i).items;
}

// A place among n, counted from the end where it is below 0.
Result<size_t> place(Call& c, size_t i, int64_t n) {
  CLEAVE_TRY(const Ints at, c.ints(i, "position"));
  if (at.size() != 1 || at[0] < -n || at[0] >= n)
    return user_error("the position is outside of {} tensors", n);
  return static_cast<size_t>(at[0] < 0 ? at[0] + n : at[0]);
}

Status construct(Call& c) {
  std::vector<Value> items;
  for (size_t k = 0; k < c.count(); ++k) items.push_back(c.value(k));
  c.give(0, sequence(std::move(items)));
  return {};
}

Status empty(Call& c) {
  c.give(0, sequence({}));
  return {};
}

Status at(Call& c) {
  CLEAVE_TRY(const std::vector<Value> items, items_of(c, 0));
  CLEAVE_TRY(const size_t k, place(c, 1, static_cast<int64_t>(items.size())));
  c.give(0, items[k]);
  return {};
}

Status insert(Call& c) {
  CLEAVE_TRY(std::vector<Value> items, items_of(c, 0));
  size_t k = items.size();
  if (c.has(2)) {
    CLEAVE_TRY(const Ints given, c.ints(2, "position"));
    const int64_t n = static_cast<int64_t>(items.size());
    if (given.size() != 1 || given[0] < -n || given[0] > n)
      return user_error("the position is outside of {} tensors", n);
    k = static_cast<size_t>(given[0] < 0 ? given[0] + n : given[0]);
  }
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(k), c.value(1));
  c.give(0, sequence(std::move(items)));
  return {};
}

Status erase(Call& c) {
  CLEAVE_TRY(std::vector<Value> items, items_of(c, 0));
  if (items.empty()) return user_error("the sequence is empty");
  size_t k = items.size() - 1;
  if (c.has(1)) { CLEAVE_TRY(k, place(c, 1, static_cast<int64_t>(items.size()))); }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(k));
  c.give(0, sequence(std::move(items)));
  return {};
}

Status length(Call& c) {
  CLEAVE_TRY(const std::vector<Value> items, items_of(c, 0));
  c.give(0, c.importer().sizes({Dim(static_cast<int64_t>(items.size()))}, true));
  return {};
}

// Parts of one size, or of the sizes given; without sizes rows of 1, which keepdims=0 drops.
Status split_to_sequence(Call& c) {
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis"), c.rank(0)));
  const Dim n = c.shape(0)[static_cast<size_t>(axis)];
  if (!n.is_const()) return unsupported("a size that isn't a number");
  Ints parts;
  if (c.has(1)) {
    CLEAVE_TRY(const Ints given, c.ints(1, "split"));
    if (c.rank(1) == 0) {
      if (given.size() != 1 || given[0] < 1)
        return user_error("parts of size {}", fmt::join(given, ", "));
      for (int64_t k = 0; k < n.value(); k += given[0])
        parts.push_back(std::min(given[0], n.value() - k));
    } else {
      parts = given;
    }
  } else {
    parts.assign(static_cast<size_t>(n.value()), 1);
  }
  const bool keep = c.has(1) || c.integer("keepdims", 1) != 0;
  const V x = c.in(0);
  std::vector<Value> items;
  int64_t begin = 0;
  for (const int64_t part : parts) {
    if (part < 0 || part > n.value() - begin)
      return user_error("parts of sizes {}, of {}", fmt::join(parts, ", "), n.value());
    const V v = keep ? c.slice(x, axis, begin, begin + part) : c.select(x, axis, begin);
    if (!v.valid()) return {};
    items.push_back(c.importer().made(v, c.element(0)));
    begin += part;
  }
  c.give(0, sequence(std::move(items)));
  return {};
}

Status concat_from_sequence(Call& c) {
  CLEAVE_TRY(const std::vector<Value> items, items_of(c, 0));
  if (items.empty()) return user_error("the sequence is empty");
  Values parts;
  for (const Value& v : items) parts.push_back(c.importer().resolve(v, c.builder()));
  const bool stack = c.integer("new_axis") != 0;
  c.give(
      0,
      c.op(stack ? "stack" : "cat", {CallOperand(std::move(parts))}, {{"dim", c.integer("axis")}}),
      items[0].element);
  return {};
}

// A graph for each item; operands that are tensors are the same for all.
Status map(Call& c) {
  const Attribute* body = c.attribute("body");
  if (!body || !body->graph) return user_error("has no body");
  CLEAVE_TRY(const std::vector<Value> first, items_of(c, 0));
  std::vector<std::vector<Value>> results(c.results());
  for (size_t k = 0; k < first.size(); ++k) {
    std::vector<Value> inputs;
    for (size_t i = 0; i < c.count(); ++i) {
      const Value& v = c.value(i);
      if (v.kind == Value::Kind::sequence && k >= v.items.size())
        return user_error("sequences of different lengths");
      inputs.push_back(v.kind == Value::Kind::sequence ? v.items[k] : v);
    }
    CLEAVE_TRY(const std::vector<Value> out,
               c.importer().inlined(*body->graph, inputs, c.context()));
    if (out.size() != results.size())
      return user_error("the body has {} results, expected {}", out.size(), results.size());
    for (size_t r = 0; r < out.size(); ++r) results[r].push_back(out[r]);
  }
  for (size_t r = 0; r < results.size(); ++r) c.give(r, sequence(std::move(results[r])));
  return {};
}

// ---- optionals: the value itself, or nothing

Status optional(Call& c) {
  Value v;
  v.kind = Value::Kind::nothing;
  if (c.has(0)) v = c.value(0);
  c.give(0, std::move(v));
  return {};
}

Status has_element(Call& c) {
  const bool is = c.has(0) && c.value(0).kind != Value::Kind::nothing;
  c.give(0, c.full({}, is ? 1 : 0, DType::boolean));
  return {};
}

Status get_element(Call& c) {
  if (!c.has(0) || c.value(0).kind == Value::Kind::nothing)
    return user_error("the optional holds nothing");
  c.give(0, c.value(0));
  return {};
}

constexpr RuleEntry entries[] = {{"SequenceConstruct", construct},
                                 {"SequenceEmpty", empty},
                                 {"SequenceAt", at},
                                 {"SequenceInsert", insert},
                                 {"SequenceErase", erase},
                                 {"SequenceLength", length},
                                 {"SequenceMap", map},
                                 {"SplitToSequence", split_to_sequence},
                                 {"ConcatFromSequence", concat_from_sequence},
                                 {"Optional", optional},
                                 {"OptionalHasElement", has_element},
                                 {"OptionalGetElement", get_element}};

}  // namespace

std::span<const RuleEntry> sequence_rules() { return entries; }

}  // namespace cleave::onnx
