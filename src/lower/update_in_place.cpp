#include "lower/update_in_place.h"

#include <algorithm>

#include "lower/kernel_checks.h"
#include "lower/thunk_uses.h"

namespace cleave {
namespace {

// The final copy `from -> to` of an update, as lower_graph adds it.
struct UpdateCopy {
  size_t thunk, from, to;
};

std::vector<UpdateCopy> update_copies(const LoweredProgram& p) {
  std::vector<UpdateCopy> out;
  for (size_t i = 0; i < p.thunks.size(); ++i) {
    auto* call = std::get_if<KernelCall>(&p.thunks[i].work);
    if (!call || !call->whole_copy) continue;
    size_t from = call->storages[0], to = call->storages[1];
    if (p.storages[to].placeholder >= 0 && p.storages[from].placeholder < 0)
      out.push_back({i, from, to});
  }
  return out;
}

bool is_foreign_result(const Thunk& thunk, size_t storage) {
  auto* f = std::get_if<ForeignCall>(&thunk.work);
  return f && std::find(f->results.begin(), f->results.end(), storage) != f->results.end();
}

// A call of the host program that changes an operand where it lies.
bool changes_operand(const Thunk& thunk, size_t storage) {
  auto* f = std::get_if<ForeignCall>(&thunk.work);
  return f && is_foreign_result(thunk, storage) &&
         std::ranges::find(f->operands, std::optional(storage)) != f->operands.end();
}

// A kernel whose checks precede its stores changes nothing when it fails.
bool checks_first(const LoweredProgram& p, const Thunk& thunk) {
  auto* call = std::get_if<KernelCall>(&thunk.work);
  return call && checks_of(p.kernels[call->kernel]).come_first;
}

bool touches(const Thunk& thunk, size_t storage) {
  bool out = false;
  each_touched(thunk, [&](size_t s) { out |= s == storage; });
  return out;
}

bool is_copy_of(const Thunk& thunk, size_t storage) {
  auto* call = std::get_if<KernelCall>(&thunk.work);
  return call && call->whole_copy && call->storages[0] == storage;
}

}  // namespace

void update_in_place(LoweredProgram& p, BehindFailure behind) {
  int64_t last_failure = -1;
  std::vector<std::vector<size_t>> touched(p.storages.size());  // thunks by storage
  for (size_t i = 0; i < p.thunks.size(); ++i) {
    if (p.thunks[i].may_fail) last_failure = static_cast<int64_t>(i);
    each_touched(p.thunks[i], [&](size_t s) {
      if (touched[s].empty() || touched[s].back() != i) touched[s].push_back(i);
    });
  }
  std::vector<bool> returned(p.storages.size()), renamed(p.storages.size()),
      dropped(p.thunks.size()), repeated(p.thunks.size());
  for (size_t s : p.returns) returned[s] = true;
  for (const ThunkLoop& loop : loops_of(p))
    for (size_t i = loop.begin; i <= loop.end; ++i) repeated[i] = true;
  const bool jumps = has_jumps(p);
  for (const UpdateCopy& u : update_copies(p)) {
    const std::vector<size_t>&from = touched[u.from], &to = touched[u.to];
    if (returned[u.from] || renamed[u.from] || from.empty()) continue;
    // A storage that starts as a copy of the placeholder is equal to it until another thunk writes
    // it.
    const bool is_copy = from.size() > 2 && is_copy_of(p.thunks[from.front()], u.to);
    const size_t first = from.front(), writer = is_copy ? from[1] : first;
    const auto failure = static_cast<int64_t>(writer);
    if (writer == u.thunk || failure < last_failure) continue;
    if (failure == last_failure && !checks_first(p, p.thunks[writer])) continue;
    if (repeated[first] || repeated[writer]) continue;
    if (!can_write_over(p.thunks[first], u.from, u.to)) continue;
    const bool is_changed = is_copy && !jumps && changes_operand(p.thunks[writer], u.from) &&
                            !touches(p.thunks[writer], u.to);
    if (!is_changed && !can_write_over(p.thunks[writer], u.from, u.to)) continue;
    if (p.storages[u.from].elements != p.storages[u.to].elements) continue;
    // The other arm of a cond may write it too.
    if (std::any_of(from.begin(), from.end(), [&](size_t thunk) {
          return is_foreign_result(p.thunks[thunk], u.from) && !(is_changed && thunk == writer);
        }))
      continue;
    if (last_failure >= 0 && behind == BehindFailure::library_calls_run &&
        std::ranges::any_of(from, [&](size_t thunk) {
          return std::holds_alternative<LibraryCall>(p.thunks[thunk].work) &&
                 writes(p, p.thunks[thunk], u.from);
        }))
      continue;
    // No thunk but the copy touches the placeholder after the writer; of a value in pieces, none
    // but those that write one, which read what they write themselves.
    const bool in_pieces = std::ranges::find(p.in_pieces, u.from) != p.in_pieces.end();
    if (!std::ranges::all_of(to, [&](size_t thunk) {
          return thunk <= writer || thunk == u.thunk ||
                 (in_pieces && writes(p, p.thunks[thunk], u.from) &&
                  can_write_over(p.thunks[thunk], u.from, u.to));
        }))
      continue;
    for (size_t thunk : from)
      rename_storages(p.thunks[thunk], [&](size_t s) { return s == u.from ? u.to : s; });
    renamed[u.from] = true;
    dropped[u.thunk] = true;
  }
  for (size_t i = 0; i < p.thunks.size(); ++i)
    if (copies_to_itself(p.thunks[i])) dropped[i] = true;
  drop_thunks(p, dropped);
}

}  // namespace cleave
