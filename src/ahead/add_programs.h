// The programs of a library: written, packed, with their entries.
//
//   graphs of all sizes ► their kernels ► one pool of functions (compile/code_pool.h)
//   each graph ► write_program, with these functions ► PackedCode
//   what is frozen of it ► the same, once for equal graphs, as a folding
#pragma once
#include "ahead/pack_program.h"

namespace cleave::ahead {

// `stages` has a compiler and an executor. Errors: those of stages and add_entries; unsupported: a
// callback whose operands are constants.
Status add_programs(const Source& source, const StageOptions& stages, standalone::ProgramFile& file,
                    PackedCode& packed);

}  // namespace cleave::ahead
