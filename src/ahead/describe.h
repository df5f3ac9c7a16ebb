// step.json: what a library is, to people and to programs that call it.
#pragma once
#include "ahead/pack_program.h"
#include "base/json.h"

namespace cleave::ahead {

Json describe(const standalone::ProgramFile& file, const Source& source,
              const std::vector<PackedCode::Callback>& callbacks, const std::string& key,
              int64_t code_bytes, const Target& target);

}  // namespace cleave::ahead
