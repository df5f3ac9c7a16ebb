// What thunks are and which storages they touch, and the loops that jumps make of them.
#pragma once
#include "run/program.h"

namespace cleave {

// Calls f(storage, whether it is written) for each storage, for some several times. Of a kernel's
// buffers `writes(call, b)` says whether it is.
template <class ThunkType, class Writes, class F>
void each_storage(ThunkType& thunk, const Writes& writes, const F& f) {
  if (auto* k = std::get_if<KernelCall>(&thunk.work)) {
    for (size_t b = 0; b < k->storages.size(); ++b) f(k->storages[b], writes(*k, b));
  } else if (auto* l = std::get_if<LibraryCall>(&thunk.work)) {
    for (auto& o : l->operands) f(o.storage, o.access == LibraryAccess::write);
    if (l->workspace) f(*l->workspace, true);
  } else if (auto* h = std::get_if<ForeignCall>(&thunk.work)) {
    for (auto& s : h->operands)
      if (s) f(*s, false);
    for (auto& s : h->results) f(s, true);
  } else if (auto* t = std::get_if<TransferCall>(&thunk.work)) {
    f(t->storage, t->step == TransferCall::Step::begin_in);
  } else if (auto* j = std::get_if<JumpCall>(&thunk.work); j && j->unless) {
    f(j->unless->storage, false);
  }
}

// Calls f(storage) for each storage that the thunk touches, for some several times.
template <class F>
void each_touched(const Thunk& thunk, const F& f) {
  each_storage(
      thunk, [](const KernelCall&, size_t) { return false; }, [&](size_t s, bool) { f(s); });
}
std::vector<size_t> storages_of(const Thunk& thunk);  // may repeat

// kernel, product, attention, convolution, sort, foreign, jump, transfer
const char* kind_of(const Thunk& thunk);

struct ThunkLoop {
  size_t begin, end;  // the first thunk, and the jump back
};
std::vector<ThunkLoop> loops_of(const ThunkProgram& program);

}  // namespace cleave
