// Which cleave this is: its version, its sources' digest, and what compiled it. Two builds with one
// identity compile every program to the same bytes.
#pragma once
#include <string_view>

namespace cleave {

std::string_view build_identity();

}  // namespace cleave
