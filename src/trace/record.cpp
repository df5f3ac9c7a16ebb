#include "trace/record.h"

namespace cleave::trace {

AttrValue attr_of(const Number& n) {
  switch (n.kind()) {
    case Number::Kind::boolean: return AttrValue(n.integer() != 0);
    case Number::Kind::integer: return AttrValue(n.integer());
    case Number::Kind::floating: return AttrValue(n.floating());
  }
  return {};
}

RecordingPtr common_recording(const std::string& op, const std::vector<Arg>& args, Location at) {
  RecordingPtr first_free, program;
  const auto look_at = [&](const Tensor& t) {
    if (Access::recording(t) == nullptr) return;
    const RecordingPtr r = Access::recording(t)->innermost();
    if (r->is_free()) {
      if (first_free == nullptr) first_free = r;
    } else if (program == nullptr) {
      program = r;
    } else if (program != r) {
      refuse(at, "{}: operands of two programs, {} and {}; give one as an input of the other", op,
             program->what(), r->what());
    }
  };
  for (const Arg& a : args) {
    look_at(a.operand.tensor());
    for (const Tensor& t : a.list) look_at(t);
  }
  if (program != nullptr) {
    if (!program->open())
      refuse(at, "{}: a tensor of {} is used after its trace is over; only what it returns is kept",
             op, program->what());
    return program;
  }
  return first_free != nullptr ? first_free : Recording::free();
}

Tensors record(const std::string& op, const std::vector<Arg>& args, NamedAttrs attrs, Location at) {
  return record_in(common_recording(op, args, at), op, args, std::move(attrs), at);
}

Tensors record_in(const RecordingPtr& r, const std::string& op, const std::vector<Arg>& args,
                  NamedAttrs attrs, Location at) {
  std::vector<CallOperand> operands;
  for (const Arg& a : args) {
    if (a.is_list) {
      Values values;
      for (const Tensor& t : a.list) values.push_back(r->value_of(t, at));
      operands.emplace_back(std::move(values));
    } else if (a.is_none) {
      operands.emplace_back(ValueId::none());
    } else if (a.operand.is_number()) {
      operands.emplace_back(attr_of(a.operand.number()));
    } else if (!a.operand.tensor().defined()) {
      refuse(at, "{}: an operand is an empty Tensor, expected a value", op);
    } else {
      operands.emplace_back(r->value_of(a.operand.tensor(), at));
    }
  }
  Tensors out;
  for (const ValueId v : r->call(op, std::move(operands), std::move(attrs), at))
    out.push_back(Access::tensor(r, v));
  return out;
}

Tensor record1(const std::string& op, const std::vector<Arg>& args, NamedAttrs attrs, Location at) {
  return record(op, args, std::move(attrs), at).at(0);
}

Tensor record_constant(const std::string& op, NamedAttrs attrs, Location at) {
  return record1(op, {}, std::move(attrs), at);
}

int64_t normal_dim(const char* op, int64_t dim, int64_t rank, Location at) {
  if (dim < -rank || dim >= rank)
    refuse(at, "{}: dim {} is outside [{}, {})", op, dim, -rank, rank);
  return dim < 0 ? dim + rank : dim;
}

void require_defined(const char* op, const char* argument, const Tensor& t, Location at) {
  if (!t.defined()) refuse(at, "{}: {} is an empty Tensor, expected a value", op, argument);
}

}  // namespace cleave::trace
