#include "lower/offload.h"

#include <algorithm>
#include <utility>

#include "base/work_time.h"
#include "lower/plan_memory.h"
#include "lower/thunk_uses.h"
#include "lower/traffic.h"
#include "plan/offload.h"
#include "plan/offsets.h"

namespace cleave {
namespace {

using Step = TransferCall::Step;

// Until a copy runs, and until what waits for it does.
constexpr int64_t ns_per_copy = 20'000;
// Offsets take more than what is alive: so often less is aimed at.
constexpr int max_attempts = 4;

bool has_halves(const LibraryCall& call) {
  return std::ranges::any_of(call.operands, [](const LibraryCall::Operand& o) {
    return o.dtype == DType::bf16 || o.dtype == DType::f16;
  });
}

int64_t ns_of(const LoweredProgram& p, const Thunk& thunk, const MachineRates& rates) {
  const KernelTraffic traffic = traffic_of(p, thunk);
  const auto* call = std::get_if<LibraryCall>(&thunk.work);
  const double gflops =
      call && has_halves(*call) ? rates.half_product_gflops : rates.product_gflops;
  return work_ns(traffic.flops, traffic.read + traffic.written, gflops, rates);
}

// The values are the storages of the arena that calls touch, without workspaces.
struct Problem {
  plan::OffloadProblem plan;
  std::vector<size_t> storage;  // by value
};

Problem problem_of(const LoweredProgram& p, const MachineRates& rates) {
  Problem out;
  std::vector<plan::OffloadValue> values(p.storages.size());
  for (size_t i = 0; i < p.thunks.size(); ++i) {
    out.plan.ns.push_back(ns_of(p, p.thunks[i], rates));
    each_touched(p.thunks[i], [&](size_t s) {
      std::vector<int64_t>& touches = values[s].touches;
      if (touches.empty() || touches.back() != static_cast<int64_t>(i))
        touches.push_back(static_cast<int64_t>(i));
    });
  }
  for (const size_t s : p.returns) values[s].to_the_end = true;
  for (size_t s = 0; s < values.size(); ++s) {
    if (p.storages[s].placeholder >= 0 || values[s].touches.empty()) continue;
    values[s].bytes = rounded(p.storages[s].bytes);
    out.plan.values.push_back(std::move(values[s]));
    out.storage.push_back(s);
  }
  out.plan.bytes_per_ns = rates.host_gigabytes;
  out.plan.ns_per_copy = ns_per_copy;
  return out;
}

// What stands in front of each thunk, in this order.
struct Steps {
  std::vector<size_t> begin_out, end_out, begin_in, end_in;  // numbers of copies
};

// The program with the copies, each way one for each offload: 2k out, 2k + 1 in.
class Writer {
 public:
  Writer(LoweredProgram& p, const Problem& problem, const std::vector<plan::Offload>& offloads)
      : p_(p), problem_(problem), offloads_(offloads), steps_(p.thunks.size() + 1),
        now_(p.storages.size()), host_offset_(host_offsets()) {
    for (size_t s = 0; s < now_.size(); ++s) now_[s] = s;
    for (size_t k = 0; k < offloads.size(); ++k) {
      const plan::Offload& o = offloads[k];
      const auto& touches = problem.plan.values[o.value].touches;
      at(touches[o.gap] + 1).begin_out.push_back(k);
      at(o.absent_from).end_out.push_back(k);
      at(o.absent_to).begin_in.push_back(k);
      at(touches[o.gap + 1]).end_in.push_back(k);
    }
    // One after the other, the first to be needed first.
    const auto needed = [&](size_t k) {
      const plan::Offload& o = offloads_[k];
      return std::pair(problem_.plan.values[o.value].touches[o.gap + 1], o.value);
    };
    for (Steps& s : steps_) std::ranges::sort(s.begin_in, {}, needed);
  }

  void run() {
    std::vector<Thunk> given = std::exchange(p_.thunks, {});
    for (size_t i = 0; i < given.size(); ++i) {
      for (const size_t k : steps_[i].begin_out) add(k, Step::begin_out);
      for (const size_t k : steps_[i].end_out) add(k, Step::end_out);
      for (const size_t k : steps_[i].begin_in) {
        add_piece(storage_of(k));
        add(k, Step::begin_in);
      }
      for (const size_t k : steps_[i].end_in) add(k, Step::end_in);
      rename_storages(given[i], [&](size_t s) { return now_[s]; });
      p_.thunks.push_back(std::move(given[i]));
    }
    for (size_t& s : p_.returns) s = now_[s];
  }

 private:
  Steps& at(int64_t position) { return steps_[static_cast<size_t>(position)]; }
  size_t storage_of(size_t offload) const { return problem_.storage[offloads_[offload].value]; }

  void add(size_t k, Step step) {
    const bool is_out = step == Step::begin_out || step == Step::end_out;
    const size_t s = now_[storage_of(k)];
    p_.thunks.push_back({.name = p_.storages[s].name,
                         .work = TransferCall{.step = step,
                                              .number = 2 * k + (is_out ? 0 : 1),
                                              .storage = s,
                                              .host_offset = host_offset_[k]}});
  }

  // What later thunks touch in the place of the storage.
  void add_piece(size_t storage) {
    const bool in_pieces = std::ranges::find(p_.in_pieces, storage) != p_.in_pieces.end();
    now_[storage] = p_.storages.size();
    p_.storages.push_back(Storage(p_.storages[storage]));
    if (in_pieces) p_.in_pieces.push_back(now_[storage]);
  }

  // From the begin of the copy out to the end of the copy in.
  std::vector<int64_t> host_offsets() const {
    std::vector<plan::Lifetime> there;
    for (const plan::Offload& o : offloads_) {
      const plan::OffloadValue& v = problem_.plan.values[o.value];
      there.push_back({v.touches[o.gap] + 1, v.touches[o.gap + 1] + 1, v.bytes});
    }
    return plan::plan_offsets(there, storage_alignment).offset;
  }

  LoweredProgram& p_;
  const Problem& problem_;
  const std::vector<plan::Offload>& offloads_;
  std::vector<Steps> steps_;  // in front of each thunk
  std::vector<size_t> now_;   // by given storage: the one that holds its value
  const std::vector<int64_t> host_offset_;
};

}  // namespace

int64_t copied_out(const ThunkProgram& p) {
  int64_t sum = 0;
  for (const Thunk& thunk : p.thunks)
    if (const auto* call = std::get_if<TransferCall>(&thunk.work);
        call && call->step == Step::begin_out)
      sum += p.storages[call->storage].bytes;
  return sum;
}

bool offload(LoweredProgram& p, int64_t room, const MachineRates& rates) {
  if (has_jumps(p) || rates.host_gigabytes <= 0) return false;
  Problem problem = problem_of(p, rates);
  problem.plan.limit = room;
  std::vector<loop::Kernel> kernels = std::exchange(p.kernels, {});  // aren't copied
  const bool is_needed = value_or_bug(plan_memory(p)).arena_bytes > room;
  bool is_within = !is_needed;
  for (int attempt = 0; attempt < max_attempts && !is_within; ++attempt) {
    const std::optional<std::vector<plan::Offload>> found = plan::plan_offloads(problem.plan);
    if (!found) break;
    LoweredProgram out = p;
    Writer(out, problem, *found).run();
    const int64_t over = value_or_bug(plan_memory(out)).arena_bytes - room;
    is_within = over <= 0;
    if (is_within) p = std::move(out);
    problem.plan.limit -= over;
  }
  p.kernels = std::move(kernels);
  return is_needed && is_within;
}

}  // namespace cleave
