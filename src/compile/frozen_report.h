// What freezing did (Report::frozen).
#pragma once
#include "cleave/report.h"
#include "ir/graph.h"

namespace cleave {

// `given` is the graph before the stage verify, `lowered` after fuse, and `frozen` what was taken
// out of it.
FrozenReport frozen_report(const Graph& given, const Graph& lowered, const Graph& frozen);

// Of a program that isn't frozen, of which `constants` was taken out.
FrozenReport constants_report(const Graph& constants);

}  // namespace cleave
