// The C of a library: its header, and the unit of its tables and functions.
#pragma once
#include "ahead/source.h"

namespace cleave::ahead {

// A C identifier from a file's name: `step` of a/step.so.
std::string c_name_of(const std::string& path);
// Error (user): it is no identifier of C, or one of C's own words.
Status check_c_name(const std::string& name);

std::string header_text(const standalone::ProgramFile& file);
// The functions' symbols, in the order of the header.
std::vector<std::string> exported_symbols(const std::string& name);
// `phases` and `operators` are symbols, in the order of their numbers.
std::string unit_text(const std::string& name, const std::vector<std::string>& phases,
                      const std::vector<std::string>& operators, const std::string& description);

}  // namespace cleave::ahead
