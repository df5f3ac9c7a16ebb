// Numbers for people.
#pragma once
#include <cstdint>
#include <string>

namespace cleave::tool {

// 1234567 as 1,234,567.
std::string grouped(int64_t n);

}  // namespace cleave::tool
