// A sample of an operator's entry as a graph of one node with concrete inputs.
//
// Contents come from a fixed seed for each operator, sample and operand, so that a failure repeats.
#pragma once
#include "ir/array.h"
#include "ir/graph.h"

namespace cleave::law {

// own: the sample's dtypes. f64: every floating operand and every floating dtype attribute is f64,
// as finite differences need.
enum class Floats { own, f64 };
SampleTensor with_floats(SampleTensor t, Floats floats);
AttrValue with_floats(AttrValue v, Floats floats);

// No operand has a symbolic dim.
bool is_static(const Sample& sample);

struct SampleCall {
  NodeId node;
  std::vector<ValueId> operands;  // placeholders, one for each flat operand that is a tensor
};

// Adds placeholders `prefix.NAME` and the call to g; their contents to `inputs` (one for each new
// placeholder, symints included). Fails where the entry refuses the call.
Result<SampleCall> add_sample(Graph& g, const OpDef& op, const Sample& sample, size_t index,
                              Floats floats, const std::string& prefix, Arrays& inputs);

// The value of a sample's attribute: a graph from its text, with `prefix.NAME.` before the names of
// its graphs, so that calls can share a program.
Result<AttrValue> sample_attr(const OpDef& op, const std::string& name, const AttrValue& value,
                              Floats floats, const std::string& prefix);

// Contents of one sample operand.
Array sample_array(const SampleTensor& t, uint64_t seed);

// Uniform in [-1, 1), away from 0 by 0.25: weights of results in the gradient laws.
Array random_weights(const Type& type, uint64_t seed);

uint64_t seed_of(const std::string& text);

// Why `got` is not `want`; empty when it is: same type; integers equal; NaN in the same places;
// |got - want| <= tolerance * max(1, max |want|).
std::string difference(const Array& got, const Array& want, double tolerance);

}  // namespace cleave::law
