#include "compile/step_program.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cleave {
namespace {

// The storages that a step writes; the others that it touches it reads.
bool writes(const LoweredProgram& p, const Step& step, size_t storage) {
  struct Ask {
    const LoweredProgram& p;
    size_t s;
    bool operator()(const KernelCall& k) const {
      for (size_t i = 0; i < k.storages.size(); ++i)
        if (k.storages[i] == s && p.kernels[k.kernel].buffers[i].access != loop::Access::read)
          return true;
      return false;
    }
    bool operator()(const ProductCall& c) const { return c.c == s; }
    bool operator()(const AttentionCall& a) const {
      for (size_t i = 0; i < a.parts.size(); ++i)
        if (a.parts[i] && a.parts[i]->storage == s && a.writes(static_cast<AttentionPart>(i)))
          return true;
      return false;
    }
    bool operator()(const ConvolutionCall& c) const { return c.out == s; }
    bool operator()(const ForeignCall& f) const {
      return std::find(f.results.begin(), f.results.end(), s) != f.results.end();
    }
    bool operator()(const JumpCall&) const { return false; }
  };
  return std::visit(Ask{p, storage}, step.work);
}

class Collector {
 public:
  Collector(const Graph& graph, const LoweredProgram& program)
      : graph_(graph), p_(program), first_(p_.storages.size(), none), last_(first_) {}

  StepProgram run() {
    for (size_t i = 0; i < p_.steps.size(); ++i)
      for (const size_t s : storages_of(p_.steps[i])) {
        if (first_[s] == none) first_[s] = i;
        last_[s] = i;
      }
    for (const Storage& s : p_.storages) {
      StepProgram::Storage& out = out_.storages.emplace_back();
      out.bytes = s.placeholder >= 0 ? 0 : s.bytes;
      out.placeholder = s.placeholder >= 0;
      if (out.placeholder) out_.placeholder_bytes += rounded(s.bytes);
    }
    for (const size_t s : p_.returns) out_.storages[s].kept = p_.storages[s].placeholder < 0;
    for (size_t i = 0; i < p_.steps.size();) {
      size_t end = i;
      while (end < p_.steps.size() && p_.steps[end].node == p_.steps[i].node) ++end;
      if (p_.steps[i].node.valid())
        add_call(i, end);
      else
        add_copies(i, end);
      i = end;
    }
    for (size_t c = 0; c < out_.calls.size(); ++c) set_at_least(c);
    return std::move(out_);
  }

 private:
  static constexpr size_t none = ~size_t{0};

  void add_call(size_t begin, size_t end) {
    StepProgram::Call call;
    call.node = p_.steps[begin].node;
    std::vector<size_t> own;
    std::vector<int32_t> seen;
    for (size_t i = begin; i < end; ++i) {
      call.may_fail |= p_.steps[i].may_fail;
      for (const size_t s : storages_of(p_.steps[i])) {
        const auto id = static_cast<int32_t>(s);
        const bool written = writes(p_, p_.steps[i], s);
        if (out_.storages[s].placeholder && written) call.updates.push_back(id);
        if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
        seen.push_back(id);
        if (first_[s] < begin || out_.storages[s].placeholder) {
          if (!(out_.storages[s].placeholder && written)) call.reads.push_back(id);
        } else if (last_[s] >= end || out_.storages[s].kept) {
          out_.storages[s].value = result_named(call.node, p_.storages[s].name);
          call.makes.push_back(id);
        } else {
          own.push_back(s);
        }
      }
    }
    call.workspace = most_alive(begin, end, own);
    out_.calls.push_back(std::move(call));
    steps_.emplace_back(begin, end);
  }

  // The most that its steps have in memory at once: what they read up to the last of them that
  // does, of what they make the largest from the first on: a program may make each alone. Updates
  // may be written in place, and take nothing then.
  void set_at_least(size_t c) {
    const auto [begin, end] = steps_[c];
    std::map<size_t, std::pair<size_t, size_t>> alive;  // by storage: first and last step here
    for (size_t i = begin; i < end; ++i)
      for (const size_t s : storages_of(p_.steps[i]))
        if (!out_.storages[s].placeholder && !out_.storages[s].update)
          alive.emplace(s, std::pair{i, i}).first->second.second = i;
    size_t largest = p_.storages.size();
    for (const int32_t m : out_.calls[c].makes) {
      const auto s = static_cast<size_t>(m);
      if (!alive.contains(s)) continue;
      if (largest != p_.storages.size()) {
        const bool larger = p_.storages[s].bytes > p_.storages[largest].bytes;
        alive.erase(larger ? std::exchange(largest, s) : s);
      } else {
        largest = s;
      }
    }
    std::vector<int64_t> change(end - begin + 1);
    for (const auto& [s, steps] : alive) {
      const int64_t bytes = rounded(p_.storages[s].bytes);
      const bool read = first_[s] < begin;
      change[read ? 0 : steps.first - begin] += bytes;
      change[steps.second - begin + 1] -= bytes;
    }
    int64_t now = 0;
    for (size_t i = 0; i + begin < end; ++i)
      out_.calls[c].at_least = std::max(out_.calls[c].at_least, now += change[i]);
  }

  ValueId result_named(NodeId n, const std::string& name) const {
    const ValueId v = graph_.find(name);
    return v.valid() && graph_.value(v).def == n ? v : ValueId{};
  }

  int64_t most_alive(size_t begin, size_t end, const std::vector<size_t>& own) const {
    int64_t most = 0;
    for (size_t i = begin; i < end && !own.empty(); ++i) {
      int64_t alive = 0;
      for (const size_t s : own)
        if (first_[s] <= i && i <= last_[s]) alive += rounded(p_.storages[s].bytes);
      most = std::max(most, alive);
    }
    return most;
  }

  // Copies of what is returned, behind everything.
  void add_copies(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (const size_t s : storages_of(p_.steps[i])) {
        if (first_[s] < begin && !out_.storages[s].placeholder) {
          out_.storages[s].update |= !out_.storages[s].kept;
          out_.storages[s].kept = true;
        }
        if (first_[s] >= begin && !out_.storages[s].placeholder)
          out_.copied_at_end += rounded(p_.storages[s].bytes);
      }
  }

  const Graph& graph_;
  const LoweredProgram& p_;
  std::vector<size_t> first_, last_;              // steps, by storage
  std::vector<std::pair<size_t, size_t>> steps_;  // of each call
  StepProgram out_;
};

}  // namespace

StepProgram step_program(const Graph& graph, const LoweredProgram& program) {
  return Collector(graph, program).run();
}

}  // namespace cleave
