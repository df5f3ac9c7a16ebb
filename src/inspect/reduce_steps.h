// The steps by which a failing graph is made smaller. Each returns another graph, or none where the
// step isn't possible; whether the result is a graph at all is for verify() to say.
//
//   from                  calls_as_inputs       calls_cut_out          call_bypassed
//
//   %a = sin(%x)                                %a = sin(%x)           %a = sin(%x)
//   %b = exp(%a)          %b: input             %b: input
//   %c = mul(%b, %y)      %c = mul(%b, %y)      %c = mul(%b, %y)       %c = mul(%a, %y)
//   return %c             return %c             return %c, %a          return %c
#pragma once
#include <optional>
#include <span>

#include "interp/given_graph.h"

namespace cleave {

using NamedValues = std::map<std::string, Array>;

// Removes calls and inputs that no return needs, and symints that no size mentions.
void tidy(GivenGraph& given);

// Without the returns [begin, end).
std::optional<GivenGraph> without_returns(const GivenGraph& from, size_t begin, size_t end);

// The calls become inputs, of their names and, where `from` has inputs, their values: none where
// one is missing. Their results aren't returned any more; if nothing else is, those inputs are.
std::optional<GivenGraph> calls_as_inputs(const GivenGraph& from, std::span<const NodeId> calls,
                                          const NamedValues& values);
// The same, and the calls' operands are returned, so that what computes these stays; none if that
// is no call.
std::optional<GivenGraph> calls_cut_out(const GivenGraph& from, std::span<const NodeId> calls,
                                        const NamedValues& values);
// What reads result `result` of the call reads its operand; none where that has another type.
std::optional<GivenGraph> call_bypassed(const GivenGraph& from, NodeId call, uint32_t result,
                                        size_t operand);

// Without the input, which nothing needs.
std::optional<GivenGraph> without_input(const GivenGraph& from, size_t input);
// Placeholder `k` with the role `input`; a symint and an rng_state keep theirs.
std::optional<GivenGraph> as_input(const GivenGraph& from, size_t k);
// Placeholder `k` without its mark for a gradient.
std::optional<GivenGraph> without_mark(const GivenGraph& from, size_t k);
// All placeholders as inputs, updates and gradients as results, so that any of them can go alone;
// no marks for gradients, no tags.
GivenGraph without_roles(const GivenGraph& from);
// Symbolic sizes by their values; none where there is none.
std::optional<GivenGraph> with_fixed_sizes(const GivenGraph& from);

}  // namespace cleave
