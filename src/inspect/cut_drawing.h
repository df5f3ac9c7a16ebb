// cut.svg: the two halves as layered graphs side by side, and the saved values between them.
//
//      forward              backward        forward layers: the longest path from the inputs
//       ┌───┐    saved       ┌───┐          backward layers: the longest path from the tangents,
//       │ a │═══════════════►│ a'│          which are at the bottom
//       └─┬─┘                └─▲─┘
//       ┌─▼─┐                ┌─┴─┐
//       │ b │═══════════════►│ b'│
#pragma once
#include <optional>
#include <string>

#include "cut/partition.h"

namespace cleave {

constexpr size_t largest_drawing = 200;  // calls of both halves together

// nullopt if the halves have more calls than that.
std::optional<std::string> cut_drawing(const std::string& title, const Partition& cut);

}  // namespace cleave
