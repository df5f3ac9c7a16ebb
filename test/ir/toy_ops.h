// A registry of a few operators for the tests of src/ir: signatures of every kind, minimal
// inference, no other rules.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"
#include "ir/op_view.h"

namespace cleave {

struct ToyRules {
  static Result<Types> same(const OpView& op) { return Types{op.in_type(0)}; }

  // Equal shapes, or one operand is a number or has one element.
  static Result<Types> pair(const OpView& op) {
    if (op.is_number(0) && op.is_number(1)) return op.broken("C2", "two numbers");
    if (op.is_number(0)) return Types{op.in_type(1)};
    if (op.is_number(1) || op.in_type(1).shape.empty()) return Types{op.in_type(0)};
    if (op.in_type(0).shape.empty()) return Types{op.in_type(1)};
    if (!(op.in_type(0).shape == op.in_type(1).shape))
      return op.broken("C1", "{} and {} differ, expected one shape", op.in_type(0).text(),
                       op.in_type(1).text());
    return Types{op.in_type(0)};
  }

  static Result<Types> sum(const OpView& op) {
    Type t = op.in_type(0);
    std::vector<bool> gone(t.shape.size(), op.ints_attr("dim").empty());
    for (int64_t d : op.ints_attr("dim")) {
      if (d < -t.rank() || d >= t.rank())
        return op.broken("C1", "dim {} is outside [{}, {})", d, -t.rank(), t.rank());
      gone[d < 0 ? d + t.rank() : d] = true;
    }
    Shape shape;
    for (size_t d = 0; d < t.shape.size(); ++d) {
      if (!gone[d])
        shape.push_back(t.shape[d]);
      else if (op.bool_attr("keepdim"))
        shape.push_back(1);
    }
    t.shape = std::move(shape);
    return Types{t};
  }

  static Result<Types> mm(const OpView& op) {
    const Type &x = op.in_type(0), &y = op.in_type(1);
    if (x.rank() != 2 || y.rank() != 2)
      return op.broken("C1", "{} and {}, expected two matrices", x.text(), y.text());
    if (!(x.shape[1] == y.shape[0]))
      return op.broken("C2", "{} columns against {} rows", x.shape[1].text(), y.shape[0].text());
    return Types{Type(x.dtype, {x.shape[0], y.shape[1]})};
  }

  static Result<Types> permute(const OpView& op) {
    Type t = op.in_type(0);
    const std::vector<int64_t> dims = op.ints_attr("dims");
    std::vector<bool> seen(t.shape.size());
    if (dims.size() != t.shape.size())
      return op.broken("C1", "{} dims, expected {}", dims.size(), t.rank());
    Shape shape;
    for (int64_t d : dims) {
      if (d < 0 || d >= t.rank() || seen[d])
        return op.broken("C2", "dims are no permutation of 0 to {}", t.rank() - 1);
      seen[d] = true;
      shape.push_back(t.shape[d]);
    }
    t.shape = std::move(shape);
    return Types{t};
  }

  static Result<Types> view(const OpView& op) {
    Type t = op.in_type(0);
    Dim from = t.numel();
    t.shape = op.dims_attr("size");
    if (!op.env().provably_equal(from, t.numel()))
      return op.broken("C1", "{} elements cannot be viewed as {}", from.text(),
                       shape_text(t.shape));
    return Types{t};
  }

  // Every second row: shows floordiv in an inferred type.
  static Result<Types> half(const OpView& op) {
    Type t = op.in_type(0);
    if (t.shape.empty()) return op.broken("C1", "a scalar has no half");
    t.shape[0] = Dim::floordiv(t.shape[0], 2);
    return Types{t};
  }

  static Result<Types> full(const OpView& op) {
    return Types{Type(op.dtype_attr("dtype").value_or(DType::f32), op.dims_attr("size"))};
  }

  static Result<Types> cat(const OpView& op) {
    if (op.list_size() == 0) return op.broken("C1", "an empty list");
    Type t = op.list_type(0);
    const int64_t dim = op.int_attr("dim") < 0 ? op.int_attr("dim") + t.rank() : op.int_attr("dim");
    if (dim < 0 || dim >= t.rank()) return op.broken("C2", "dim {} of {}", dim, t.text());
    for (int k = 1; k < op.list_size(); ++k) {
      if (op.list_type(k).rank() != t.rank()) return op.broken("C3", "ranks differ");
      t.shape[dim] = t.shape[dim] + op.list_type(k).shape[dim];
    }
    return Types{t};
  }

  static Result<Types> split(const OpView& op) {
    Types out;
    const Type& x = op.in_type(0);
    const int64_t dim = op.int_attr("dim");
    if (dim < 0 || dim >= x.rank()) return op.broken("C1", "dim {} of {}", dim, x.text());
    if (op.dims_attr("split_sizes").size() > 64) return op.broken("C2", "more than 64 pieces");
    for (const Dim& size : op.dims_attr("split_sizes")) {
      out.push_back(x);
      out.back().shape[dim] = size;
    }
    return out;
  }

  static Result<Types> layer_norm(const OpView& op) {
    Type statistic = op.in_type(0);
    const size_t dims = op.dims_attr("normalized_shape").size();
    if (dims > statistic.shape.size()) return op.broken("C1", "more dims than self has");
    for (size_t i = 0; i < dims; ++i) statistic.shape[statistic.shape.size() - 1 - i] = 1;
    return Types{op.in_type(0), statistic, statistic};
  }

  static Result<Types> dropout(const OpView& op) {
    Type mask = op.in_type(0);
    mask.dtype = DType::boolean;
    return Types{op.in_type(0), mask};
  }

  // Two results, the second unused unless asked for.
  static Result<Types> masked(const OpView& op) {
    return Types{op.in_type(0), op.bool_attr("second") ? op.in_type(0) : Type::none()};
  }

  static Result<Types> cond(const OpView& op) {
    GraphRef then = op.graph_attr("then");
    if (then->returns().size() != 1) return op.broken("C1", "one result is expected of a branch");
    return Types{then->type(then->returns()[0].value)};
  }

  static Result<Types> nothing(const OpView&) { return Types{}; }
};

inline OpDef toy_op(std::string name, std::string signature, InferFn infer,
                    Trait traits = Trait::none, uint32_t nondifferentiable = 0) {
  const Absent none{"a toy"};
  OpDef def{.name = std::move(name),
            .signature = std::move(signature),
            .summary = "a toy",
            .source = "a test",
            .traits = traits,
            .infer = std::move(infer),
            .reference = none,
            .decompose = none,
            .grad = none,
            .lower = none,
            .cost = none,
            .samples = {},
            .rejects = {}};
  def.nondifferentiable = nondifferentiable;
  return def;
}

inline OpRegistry toy_ops() {
  using R = ToyRules;
  OpRegistry ops;
  auto add = [&](OpDef def) { value_or_throw(ops.add(std::move(def))); };
  for (const char* name : {"exp", "sin", "cos", "relu"})
    add(toy_op(name, "(Tensor self) -> Tensor", R::same, Trait::pointwise));
  for (const char* name : {"add", "sub"})
    add(toy_op(name, "(Tensor|Scalar self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
               R::pair, Trait::pointwise));
  add(toy_op("mul", "(Tensor self, Tensor|Scalar other) -> Tensor", R::pair, Trait::pointwise));
  add(toy_op("sum", "(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor", R::sum,
             Trait::reduction));
  add(toy_op("mm", "(Tensor self, Tensor mat2) -> Tensor", R::mm, Trait::compute_intensive));
  add(toy_op("permute", "(Tensor self, int[] dims) -> Tensor", R::permute, Trait::view));
  add(toy_op("view", "(Tensor self, SymInt[] size) -> Tensor", R::view, Trait::view));
  add(toy_op("half", "(Tensor self) -> Tensor", R::half));
  add(toy_op("full", "(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None) -> Tensor",
             R::full, Trait::constructor));
  add(toy_op("ones_like", "(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", R::same));
  add(toy_op("gelu", "(Tensor self, *, str approximate='none') -> Tensor", R::same));
  add(toy_op("clamp", "(Tensor self, float lo=-1.0, float? hi=None) -> Tensor", R::same));
  add(toy_op("cat", "(Tensor[] tensors, int dim=0) -> Tensor", R::cat));
  add(toy_op("split_with_sizes", "(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
             R::split, Trait::view));
  add(toy_op("index", "(Tensor self, Tensor?[] indices) -> Tensor", R::same));
  add(toy_op("native_layer_norm",
             "(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) "
             "-> (Tensor, Tensor, Tensor)",
             R::layer_norm, Trait::none, 0b110));
  add(toy_op("masked", "(Tensor self, bool second=False) -> (Tensor, Tensor)", R::masked));
  add(toy_op("native_dropout",
             "(Tensor input, Tensor rng, float p, bool train, int stream) -> (Tensor, Tensor)",
             R::dropout, Trait::random, 0b10));
  add(toy_op("rand_like", "(Tensor self, Tensor rng, int stream) -> Tensor", R::same,
             Trait::random));
  add(toy_op("rng_next", "(Tensor rng) -> Tensor", R::same));
  add(toy_op("cond", "(Tensor pred, Tensor[] operands, *, Graph then, Graph otherwise) -> Tensor",
             R::cond));
  add(toy_op("print_line", "(Tensor self, str text) -> ()", R::nothing, Trait::effect));
  return ops;
}

}  // namespace cleave
