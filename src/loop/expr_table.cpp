#include "loop/expr_table.h"

#include <utility>

namespace cleave::loop {
namespace {

size_t mixed(size_t h, uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15; }

size_t hash_of(Op op, DType type, const Operands& args, int64_t own, const std::string& name) {
  size_t h =
      mixed(static_cast<size_t>(op) << 8 | static_cast<size_t>(type), static_cast<uint64_t>(own));
  for (const Expr& a : args) h = mixed(h ^ h >> 32, reinterpret_cast<uintptr_t>(&*a) >> 4);
  if (!name.empty()) h = mixed(h, std::hash<std::string>()(name));
  return h ^ h >> 29;
}

}  // namespace

// Never destroyed: static expressions may outlive any other object.
ExprTable& ExprTable::all() {
  static ExprTable& table = *new ExprTable();
  return table;
}

const ExprNode* ExprTable::find_or_make(Op op, DType type, Operands args, int64_t own,
                                        std::string name) {
  const size_t hash = hash_of(op, type, args, own, name);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  for (size_t at = shard.first(hash); shard.slots[at].node; at = shard.next(at)) {
    const ExprNode* n = shard.slots[at].node;
    const bool is_equal = shard.slots[at].hash == hash && n->op == op && n->type == type &&
                          n->own_ == own && n->args == args && n->name_ == name;
    if (is_equal && hold_if_held(*n)) return n;
  }
  const auto* made = new ExprNode(op, type, std::move(args), own, std::move(name));
  shard.add({hash, made});
  return made;
}

// A node without holders is on its way out of the table.
bool ExprTable::hold_if_held(const ExprNode& n) {
  uint32_t holders = n.holders_.load(std::memory_order_relaxed);
  while (holders && !n.holders_.compare_exchange_weak(holders, holders + 1)) {}
  return holders > 0;
}

void ExprTable::remove(const ExprNode* n) {
  const size_t hash = hash_of(n->op, n->type, n->args, n->own_, n->name_);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  size_t at = shard.first(hash);
  while (shard.slots[at].node != n) at = shard.next(at);
  shard.erase(at);
}

size_t ExprTable::size() {
  size_t out = 0;
  for (Shard& s : shards_) {
    const std::lock_guard lock(s.mutex);
    out += s.used;
  }
  return out;
}

void ExprTable::Shard::add(Slot slot) {
  if (2 * ++used > slots.size()) grow();
  size_t at = first(slot.hash);
  while (slots[at].node) at = next(at);
  slots[at] = slot;
}

// What was moved on past the slot moves back, so that no probing ends too early.
void ExprTable::Shard::erase(size_t at) {
  --used;
  for (size_t from = next(at); slots[from].node; from = next(from)) {
    const size_t moved_by = (from - first(slots[from].hash)) & (slots.size() - 1);
    const size_t gap = (from - at) & (slots.size() - 1);
    if (moved_by < gap) continue;
    slots[at] = slots[from];
    at = from;
  }
  slots[at] = {};
}

void ExprTable::Shard::grow() {
  std::vector<Slot> old = std::exchange(slots, std::vector<Slot>(2 * slots.size()));
  for (const Slot& s : old) {
    if (!s.node) continue;
    size_t at = first(s.hash);
    while (slots[at].node) at = next(at);
    slots[at] = s;
  }
}

}  // namespace cleave::loop
