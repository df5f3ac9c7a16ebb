// What functions of sort.h share: where lines begin, and items of their elements.
#pragma once
#include "library/library_function.h"
#include "library/sort_spec.h"
#include "run/run_context.h"
#include "runtime/sort_items.h"

namespace cleave::runtime {

constexpr int64_t sort_chunk = int64_t{1} << 15;  // its items and their copy fit into a L2 cache
constexpr double sort_cycles = 30;                // an element

// Element is a type with Bits, Key and `static Key key_of(Bits)`.
template <class Element>
class SortLines : public LibraryFunction {
 public:
  using Bits = typename Element::Bits;
  using Key = typename Element::Key;
  using T = Item<Key>;

  explicit SortLines(const SortSpec& spec) : s_(spec) {}

 protected:
  // Where a line begins; its elements are s_.inner apart. Results that aren't wanted are null.
  struct Line {
    const Bits* self;
    Bits* values;
    int64_t* indices;
  };
  int64_t lines() const { return s_.outer * s_.inner; }
  Line line(void* const* at, int64_t i) const {
    const int64_t outer = i / s_.inner, inner = i % s_.inner;
    const int64_t to = outer * s_.count * s_.inner + inner;
    Line l{.self = static_cast<const Bits*>(at[SortOperand::self]),
           .values = static_cast<Bits*>(at[SortOperand::values]),
           .indices = static_cast<int64_t*>(at[SortOperand::indices])};
    l.self += outer * s_.length * s_.inner + inner;
    if (l.values) l.values += to;
    if (l.indices) l.indices += to;
    return l;
  }

  // Of the element in the order that is asked for.
  Key key(const Line& l, int64_t i) const {
    constexpr Key all =
        sizeof(Key) == 4 ? (Key{1} << (4 * sizeof(Bits)) << (4 * sizeof(Bits))) - 1 : ~Key{0};
    return Element::key_of(l.self[i * s_.inner]) ^ (s_.is_descending ? all : 0);
  }
  void write(const Line& l, const T* items, int64_t begin, int64_t end) const {
    for (int64_t j = begin; j < end; ++j) {
      const int64_t i = index_of<Key>(items[j]);
      if (l.values) l.values[j * s_.inner] = l.self[i * s_.inner];
      if (l.indices) l.indices[j * s_.inner] = i;
    }
  }

  const SortSpec s_;
};

}  // namespace cleave::runtime
