// What a frozen program computes once, and a graph of its own that does (CompileOptions::freeze).
//
//   graph @main(%w: param, %v: param, %x: input) {        graph @frozen(%w: param, %v: param) {
//     %c = mm(%w, %v)                                       %_FOLDED_CONST_c = mm(%w, %v)
//     %y = mm(%x, %c)                                       return %_FOLDED_CONST_c
//     return %y                                           }
//   }                                                     graph @main(%x: input,
//                                                             %_FOLDED_CONST_c: const) {
//                                                           %y = mm(%x, %_FOLDED_CONST_c)
//                                                           return %y
//                                                         }
#pragma once
#include <functional>

#include "ir/graph.h"

namespace cleave {

// Whether v keeps its value from one run to the next: frozen (pass/frozen.h), and no return updates
// it.
bool is_kept(const Graph& g, ValueId v);

// By value: whether it depends on kept values alone, through calls that give the same in each run.
std::vector<bool> frozen_values(const Graph& g);
// The same of other values than placeholders' roles say; calls for which `leaves` is true don't.
std::vector<bool> frozen_values(const Graph& g, std::vector<bool> kept,
                                const std::function<bool(const Node&)>& leaves = {});

// The results to compute once: of calls of frozen values alone that other calls read, or the
// program returns. These calls stay in each run, and what they read may be folded instead:
//
//   views       which cost nothing; a reshape of what isn't dense copies, and is folded
//   uniforms    one number everywhere, which readers compute on their way
//   growth      results of more than 4 times the bytes of the operands, unless a product reads them
//
// Random calls, effects and collectives are never folded. The order is that of the calls. What has
// symbolic sizes stays.
Values foldable_values(const Graph& g);
Values foldable_values(const Graph& g, const std::vector<bool>& frozen);

// Whether static results have more than 4 times the bytes of the operands, or the operands have
// symbolic sizes.
bool grows(const Graph& g, const Values& operands, const Values& results);

// fold_frozen names them so (freeze/fold_frozen.cpp).
constexpr std::string_view folded_prefix = "_FOLDED_CONST_";
bool is_folded(const Graph& g, ValueId v);
// Gives the values such names; returns how many had none.
Result<int64_t> name_folded(Graph& g, const Values& values);

// Moves what computes the foldable values that is_folded names out of g. In g they become
// placeholders of role const, behind the others, and parameters, buffers and constants that nothing
// reads go. The result returns them, in that order; it has no returns if there are none.
Result<Graph> take_frozen(Graph& g);
// The same of values that depend on nothing (freeze/constant_values.h), which compute_once names:
// the graph of the result has no placeholders, and g keeps all of its own.
Result<Graph> take_constants(Graph& g);

}  // namespace cleave
