// cut.svg: the two halves as layered graphs beside each other, and what goes from one to the other.
//
//      forward              backward        forward layers: the longest way from the inputs
//       ┌───┐    saved       ┌───┐          backward layers: the longest way from the tangents, at
//       │ a │═══════════════►│ a'│          the bottom
//       └─┬─┘                └─▲─┘
//       ┌─▼─┐                ┌─┴─┐
//       │ b │═══════════════►│ b'│
#pragma once
#include <optional>
#include <string>

#include "cut/partition.h"

namespace cleave {

constexpr size_t largest_drawing = 200;  // calls of the two halves

// Nothing where the halves have more calls than that.
std::optional<std::string> cut_drawing(const std::string& title, const Partition& cut);

}  // namespace cleave
