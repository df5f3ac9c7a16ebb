// Files that were damaged, or altered with a mind to do harm: the same ones for the same seed.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "test/import/archives.h"

namespace cleave {

class Mutations {
 public:
  explicit Mutations(uint32_t seed) : random_(seed) {}

  // In [0, n).
  size_t below(size_t n) { return random_() % n; }

  // Bytes flipped, cut off, taken out, doubled, swapped, zeroed, or replaced by a part of `other`.
  std::string bytes(std::string whole, const std::string& other);
  // A number of a text replaced by one that is negative, large or none.
  std::string number(std::string text);
  // A zip file whose directory says other sizes, offsets or methods.
  std::string directory(std::string zip);
  // An archive's entries with one altered, lost, twice there, swapped with its neighbour, or with
  // the contents of one of `other`. Their CRCs are right.
  std::vector<Part> members(std::vector<Part> parts, const std::vector<Part>& other);
  // A protocol buffer's message with a field altered somewhere inside of it, so that the lengths
  // around it are right: another number, wire type or text, lost, doubled, or one of `other`'s.
  std::string message(const std::string& whole, const std::string& other);

 private:
  std::mt19937 random_;
};

}  // namespace cleave
