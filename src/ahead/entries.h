// What callers see of a library, and where its programs find it.
#pragma once
#include "ahead/source.h"

namespace cleave::ahead {

// The placeholders of one program, from its code.
void place_entries(const Source& source, const Source::Program& from,
                   standalone::ProgramEntry& program);

// Inputs, outputs and the state, by the graphs; `file` has the sized programs. Errors: unsupported
// where the shapes of inputs don't tell two sizes apart; bug: graphs differ in more than sizes.
Status add_entries(const Source& source, standalone::ProgramFile& file);

// The placeholders of these names.
std::map<std::string, size_t> placeholders_of(const ThunkProgram& program);

}  // namespace cleave::ahead
