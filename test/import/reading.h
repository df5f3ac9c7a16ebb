// Nodes of a .pt2 file, as tests write them, read into a graph and run on the oracle.
//
//   Reading r;
//   r.input("x", {3, 4});
//   r.node("y", {3, 4}, "exp.default", {{"self", tensor("x")}});
//   r.text("y");     // the calls; or the error
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "grad/grad.h"
#include "import/exported/graph_reader.h"
#include "interp/interpret.h"
#include "ir/text.h"
#include "op/registry.h"

namespace cleave::exported {

using Kind = Argument::Kind;

inline const OpRegistry& all_ops() {
  static const OpRegistry ops = value_or_bug(core_ops());
  return ops;
}

inline Argument of_kind(Kind kind, std::string text = {}, int64_t number = 0) {
  Argument a;
  a.kind = kind;
  a.text = std::move(text);
  a.number = number;
  return a;
}
inline Argument tensor(std::string name) { return of_kind(Kind::tensor, std::move(name)); }
inline Argument number(int64_t v) { return of_kind(Kind::integer, {}, v); }
inline Argument flag(bool v) { return of_kind(Kind::boolean, {}, v); }
inline Argument real(double v) {
  Argument a = of_kind(Kind::floating);
  a.floating = v;
  return a;
}
inline Argument list(std::vector<Argument> items) {
  Argument a = of_kind(Kind::list);
  a.items = std::move(items);
  return a;
}
inline Argument numbers(std::initializer_list<int64_t> values) {
  std::vector<Argument> items;
  for (const int64_t v : values) items.push_back(number(v));
  return list(std::move(items));
}

inline TensorMeta meta_of(std::vector<int64_t> sizes, DType t = DType::f32) {
  TensorMeta m;
  m.dtype = t;
  int64_t step = 1;
  for (const int64_t s : sizes) m.sizes.push_back({s, {}, {}});
  m.strides.resize(sizes.size());
  for (size_t k = sizes.size(); k-- > 0; step *= sizes[k]) m.strides[k].number = step;
  m.offset.number = 0;
  return m;
}

// A graph with inputs of these sizes that is read node by node.
struct Reading {
  Graph source;
  cleave::Graph graph{"main"};
  FileContext file{all_ops(), {}, {"main"}, 0};
  GraphReader reader{file, graph, false};

  void input(const std::string& name, std::vector<int64_t> sizes, DType t = DType::f32) {
    source.tensors[name] = meta_of(sizes, t);
    const Shape shape(sizes.begin(), sizes.end());
    reader.bind(name, value_or_bug(graph.add_placeholder(Role::input, name, Type(t, shape))));
  }
  // One whose gradient is asked for.
  void param(const std::string& name, std::vector<int64_t> sizes, DType t = DType::f32) {
    source.tensors[name] = meta_of(sizes, t);
    const Shape shape(sizes.begin(), sizes.end());
    reader.bind(name, value_or_bug(graph.add_placeholder(Role::param, name, Type(t, shape), true)));
  }
  // name = torch.ops.aten.OP(inputs): f32[sizes]
  void node(const std::string& name, std::vector<int64_t> sizes, const std::string& op,
            std::vector<NamedArgument> inputs, DType t = DType::f32) {
    source.tensors[name] = meta_of(std::move(sizes), t);
    source.nodes.push_back({"torch.ops.aten." + op, std::move(inputs), {tensor(name)}, {}, 0});
  }
  // A node with several results, of these sizes.
  void node_of_list(const std::vector<std::string>& names, std::vector<int64_t> sizes,
                    const std::string& op, std::vector<NamedArgument> inputs) {
    std::vector<Argument> results;
    for (const std::string& name : names) {
      source.tensors[name] = meta_of(sizes);
      results.push_back(tensor(name));
    }
    source.nodes.push_back({"torch.ops.aten." + op, std::move(inputs), {list(results)}, {}, 0});
  }
  // The calls, one a line, and what was written; or the error.
  std::string text(const std::string& result) {
    if (const Status s = reader.read(source); !s.ok()) return s.failure().message;
    const Result<ValueId> v = reader.value(result);
    if (!v.ok()) return v.failure().message;
    graph.add_return({*v});
    for (const Placeholder& p : graph.placeholders()) {
      const Result<ValueId> written = reader.written(graph.name(p.value));
      if (!written.ok()) return written.failure().message;
      if (written->valid()) graph.add_return({*written, ReturnKind::update, p.value});
    }
    if (const Status s = verify(graph); !s.ok()) return s.failure().message;
    const std::string all = print(graph);
    return all.substr(all.find('\n') + 1);
  }
};

using Numbers = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

inline void expect_near(const Numbers& got, const Numbers& want, double tolerance = 1e-9) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    if (std::isnan(want[k]))
      EXPECT_TRUE(std::isnan(got[k])) << "element " << k << " is " << got[k];
    else if (std::isinf(want[k]))
      EXPECT_EQ(got[k], want[k]) << "element " << k;
    else
      EXPECT_NEAR(got[k], want[k], tolerance * std::max(1.0, std::abs(want[k]))) << "element " << k;
  }
}

// What a reading computes for these inputs: the result's elements, and the gradient of their sum
// with regard to the first parameter, empty if there is none.
struct Answer {
  Numbers value, gradient;
  std::string failure;
};

// These numbers, or ones.
inline Array array_of(const Type& type, const Numbers* numbers) {
  Array a(type.dtype, static_shape(type));
  for (int64_t k = 0; k < a.numel(); ++k)
    a.set(k, numbers ? numbers->at(static_cast<size_t>(k)) : 1);
  return a;
}

inline Numbers numbers_of(const Array& a) {
  Numbers out;
  for (int64_t k = 0; k < a.numel(); ++k) out.push_back(a.number(k));
  return out;
}

inline Answer answer(Reading& r, const std::string& result,
                     const std::map<std::string, Numbers>& inputs) {
  if (const Status s = r.reader.read(r.source); !s.ok()) return {{}, {}, s.failure().message};
  const Result<ValueId> v = r.reader.value(result);
  if (!v.ok()) return {{}, {}, v.failure().message};
  r.graph.add_return({*v});
  cleave::Graph g = r.graph;
  for (const Placeholder& p : r.graph.placeholders())
    if (p.wants_grad) g = value_or_bug(make_joint(r.graph, all_ops()));
  std::map<std::string, Array> given;
  for (const Placeholder& p : g.placeholders()) {
    const std::string& name = g.name(p.value);
    const auto at = inputs.find(name);
    given[name] = array_of(g.type(p.value), at != inputs.end() ? &at->second : nullptr);
  }
  const Arrays out = value_or_bug(interpret(g, given));
  return {numbers_of(out[0]), out.size() > 1 ? numbers_of(out[1]) : Numbers(), ""};
}

}  // namespace cleave::exported
