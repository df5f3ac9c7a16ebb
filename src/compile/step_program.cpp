#include "compile/step_program.h"

#include <algorithm>

namespace cleave {
namespace {

int64_t rounded(int64_t bytes) {
  return (bytes + storage_alignment - 1) / storage_alignment * storage_alignment;
}

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
          out_.storages[s].update = !out_.storages[s].kept;
          out_.storages[s].kept = true;
        }
        if (first_[s] >= begin && !out_.storages[s].placeholder)
          out_.copied_at_end += rounded(p_.storages[s].bytes);
      }
  }

  const Graph& graph_;
  const LoweredProgram& p_;
  std::vector<size_t> first_, last_;  // steps, by storage
  StepProgram out_;
};

}  // namespace

StepProgram step_program(const Graph& graph, const LoweredProgram& program) {
  return Collector(graph, program).run();
}

}  // namespace cleave
