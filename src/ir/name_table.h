// Hash table from names to values: open addressing over (hash, id), a third to two thirds full. The
// names are stored with the values; a slot takes 8 bytes, and a lookup reads one name.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave {

class NameTable {
 public:
  static constexpr uint32_t absent = 0xffffffff;

  // Returns the id of the value with this name; name_of(id) returns the name of an id in the table.
  template <class NameOf>
  uint32_t find(std::string_view name, NameOf name_of) const {
    if (slots_.empty()) return absent;
    const uint32_t hash = hash_of(name);
    for (size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.id == absent) return absent;
      if (slot.hash == hash && slot.id != erased && name_of(slot.id) == name) return slot.id;
    }
  }
  // Precondition: the name is not in the table yet.
  void insert(std::string_view name, uint32_t id) {
    if (3 * (filled_ + 1) > 2 * slots_.size()) grow();
    place(hash_of(name), id);
    ++live_;
  }
  // Does nothing if (name, id) is not in the table.
  void erase(std::string_view name, uint32_t id) {
    if (slots_.empty()) return;
    for (size_t i = hash_of(name) & mask(); slots_[i].id != absent; i = (i + 1) & mask()) {
      if (slots_[i].id != id) continue;
      slots_[i].id = erased;
      --live_;
      return;
    }
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = absent;
  };
  static constexpr uint32_t erased = 0xfffffffe;

  static uint32_t hash_of(std::string_view name);
  size_t mask() const { return slots_.size() - 1; }
  void place(uint32_t hash, uint32_t id) {
    size_t i = hash & mask();
    while (slots_[i].id != absent && slots_[i].id != erased) i = (i + 1) & mask();
    filled_ += slots_[i].id == absent;
    slots_[i] = {hash, id};
  }
  void grow();

  std::vector<Slot> slots_;  // a power of two
  size_t filled_ = 0;        // slots that are not absent: live or erased
  size_t live_ = 0;
};

}  // namespace cleave
