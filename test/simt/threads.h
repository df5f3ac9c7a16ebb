// Kernels of tests: written as loop nests, mapped to threads, and run thread by thread.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "simt/kernel.h"

namespace cleave::simt::test {

// The loop nest of the text, scheduled.
loop::Kernel loops(const std::string& text);
// The text with each `name` in capital letters replaced: "N" by 768.
std::string with(std::string text, const std::vector<std::pair<std::string, int64_t>>& names);

// How the loop nest as threads differs from it as bytecode, on memory drawn from the seed, or what
// is wrong with how its threads access memory; empty: nothing.
std::string wrong(const std::string& text, uint64_t seed = 1);

// What a simulation finds, of memory with the numbers 0, 1, 2, ...; scalars are 1.
std::vector<std::string> defects(const Kernel& kernel);

// Values of an integer expression for values of its variables, by their numbers.
int64_t evaluate(const Expr& e, const std::unordered_map<int64_t, int64_t>& variables);

// Statements of a kind in a block and whatever it holds.
template <class T>
int count(const Block& block) {
  int out = 0;
  for (const Stmt& s : block) {
    out += std::holds_alternative<T>(s.node);
    if (auto* f = std::get_if<For>(&s.node)) out += count<T>(f->body);
    if (auto* i = std::get_if<If>(&s.node)) out += count<T>(i->then) + count<T>(i->otherwise);
  }
  return out;
}
template <class T>
int count(const Kernel& k) {
  int out = 0;
  for (const Phase& p : k.phases) out += count<T>(p.body);
  return out;
}

// Takes the statement with this number among those of its kind out. Returns whether there is one.
template <class T>
bool take_out(Block& block, int& number) {
  for (size_t at = 0; at < block.size(); ++at) {
    if (std::holds_alternative<T>(block[at].node) && number-- == 0) {
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    }
    if (auto* f = std::get_if<For>(&block[at].node))
      if (take_out<T>(f->body, number)) return true;
    if (auto* i = std::get_if<If>(&block[at].node))
      if (take_out<T>(i->then, number) || take_out<T>(i->otherwise, number)) return true;
  }
  return false;
}
template <class T>
Kernel without(Kernel k, int number) {
  for (Phase& p : k.phases)
    if (take_out<T>(p.body, number)) break;
  return k;
}

}  // namespace cleave::simt::test
