// Records one call of an operator on Tensors: all functions of cleave/function.h are built on it.
//
//   return record1("where", {condition, self, other}, {}, at);
#pragma once
#include "cleave/function.h"
#include "trace/recording.h"

namespace cleave::trace {

// A Tensor (no operand if it isn't defined), a number or a Tensor that must be defined, or a list
// of Tensors.
struct Arg {
  Operand operand = 0;
  Tensors list;
  bool is_list = false, is_none = false;
  Arg(const Tensor& t) : operand(t), is_none(!t.defined()) {}
  Arg(const Operand& o) : operand(o) {}
  Arg(Tensors l) : list(std::move(l)), is_list(true) {}
};

AttrValue attr_of(const Number& n);

Tensors record(const std::string& op, const std::vector<Arg>& args, NamedAttrs attrs, Location at);
// In this recording, which is that of the arguments, or they are all free.
Tensors record_in(const RecordingPtr& r, const std::string& op, const std::vector<Arg>& args,
                  NamedAttrs attrs, Location at);
Tensor record1(const std::string& op, const std::vector<Arg>& args, NamedAttrs attrs, Location at);

// Records an operator without tensor operands, in a free recording.
Tensor record_constant(const std::string& op, NamedAttrs attrs, Location at);

// Returns the recording that an operation on these arguments is added to.
RecordingPtr common_recording(const std::string& op, const std::vector<Arg>& args, Location at);

// Converts a dim that may count from the end to one from the start; an error names the operation.
int64_t normal_dim(const char* op, int64_t dim, int64_t rank, Location at);
void require_defined(const char* op, const char* argument, const Tensor& t, Location at);

}  // namespace cleave::trace
