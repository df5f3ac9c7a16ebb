#include "op/entry.h"

namespace cleave {

OpEntries::Item::Item(OpDef def) : entry(std::move(def)) {}
OpEntries::Item::~Item() = default;

OpEntries::OpEntries(std::initializer_list<Item> items) {
  entries_.reserve(items.size());
  for (const Item& item : items) entries_.push_back(std::move(item.entry));
}

OpEntries::OpEntries(std::vector<OpDef> entries) : entries_(std::move(entries)) {}
OpEntries::~OpEntries() = default;
std::vector<OpDef> OpEntries::take() && { return std::move(entries_); }

}  // namespace cleave
