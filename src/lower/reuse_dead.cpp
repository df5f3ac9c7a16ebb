#include "lower/reuse_dead.h"

#include <algorithm>

#include "lower/thunk_uses.h"

namespace cleave {
namespace {

class Reuse {
 public:
  explicit Reuse(LoweredProgram& p)
      : p_(p), place_(p.storages.size()), first_(p.storages.size(), -1), last_(first_) {
    for (size_t s = 0; s < place_.size(); ++s) place_[s] = s;
    for (size_t i = 0; i < p.thunks.size(); ++i)
      each_touched(p.thunks[i], [&](size_t s) {
        if (first_[s] < 0) first_[s] = static_cast<int64_t>(i);
        last_[s] = static_cast<int64_t>(i);
      });
    for (const size_t s : p.returns) last_[s] = static_cast<int64_t>(p.thunks.size());
  }

  void run() {
    for (size_t i = 0; i < p_.thunks.size(); ++i)
      if (auto* call = std::get_if<KernelCall>(&p_.thunks[i].work))
        choose(*call, static_cast<int64_t>(i));
    const auto renamed = [&](size_t s) { return place_[s]; };
    for (Thunk& thunk : p_.thunks) rename_storages(thunk, renamed);
    for (size_t& s : p_.returns) s = renamed(s);
    std::vector<bool> dropped(p_.thunks.size());
    for (size_t i = 0; i < p_.thunks.size(); ++i) dropped[i] = copies_to_itself(p_.thunks[i]);
    drop_thunks(p_, dropped);
  }

 private:
  void choose(const KernelCall& call, int64_t thunk) {
    std::vector<size_t> taken;
    for (const InPlace& pair : call.in_place) {
      const size_t from = pair.operand, to = pair.result;
      if (place_[to] != to || !is_plain(from) || !is_plain(to)) continue;
      if (first_[to] != thunk || first_[from] >= thunk || last_[from] != thunk) continue;
      if (rounded(p_.storages[from].bytes) != rounded(p_.storages[to].bytes)) continue;
      if (std::ranges::find(taken, from) != taken.end()) continue;
      taken.push_back(from);
      place_[to] = place_[from];
    }
  }
  bool is_plain(size_t s) const {
    return p_.storages[s].placeholder < 0 && !p_.storages[s].workspace;
  }

  LoweredProgram& p_;
  std::vector<size_t> place_;  // what replaces each storage
  std::vector<int64_t> first_, last_;
};

}  // namespace

void reuse_dead(LoweredProgram& p) {
  if (!has_jumps(p)) Reuse(p).run();
}

}  // namespace cleave
