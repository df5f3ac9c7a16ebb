// PyTorch's minimum cut: which values the forward saves for the backward, given which calls must
// not run again.
//
//   source ─inf─► n_in      n is banned from recomputation, or a placeholder
//   n_in ─weight─► n_out    saving n
//   n_out ─inf─► m_in       m reads n
//   n_out ─inf─► sink       n is returned as a gradient
//   n_in ─inf─► sink        n reads a tangent, or is tagged for recomputation
//
//   weight = bytes * 1.1^distance, distance in [1, 100]; twice that where n isn't materialised
//            (every reader fuses with it); 0 for parameters; infinite for a tuple and a constant;
//            of a symbol 1, if it is floating 4
//
// Of equal cuts the one nearest the sink is used, as in networkx.
// One difference: a call with an effect or a collective never runs again, whatever bans, tags and
// `may_run_again` say (doc/decisions/016-collectives.md).
// Source: solve_min_cut of torch/_functorch/partitioners.py, PyTorch 2.13.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cleave/pytorch_options.h"
#include "cut/pytorch_graph.h"
#include "flow/failed_network.h"

namespace cleave {

struct PytorchCut {
  struct Ban {
    int32_t node;
    std::string why;
  };
  std::vector<int32_t> saved;  // nodes, in the graph's order
  std::vector<Ban> banned;     // in the order in which the rules were applied
  // Nodes that were looked at in the searches for values used far apart or in a chain.
  int64_t looks = 0;
};

// `may_run_again`: by node, or empty; these nodes are banned by no rule. Errors (user): a value
// that the backward needs can be neither saved nor computed; names the constraints that conflict.
Result<PytorchCut> pytorch_min_cut(const PytorchGraph& graph, const PytorchBans& bans,
                                   const std::vector<bool>& may_run_again = {});

// The network of the cut with all of `bans`, whose nodes are the two of each node of the graph, if
// it has no finite cut; nullopt: it has one.
std::optional<flow::FailedNetwork> pytorch_failed_network(const PytorchGraph& graph,
                                                          const PytorchBans& bans);

}  // namespace cleave
