#include "lower/lower_graph.h"

// A graph to steps: views, kernel calls, returns. Storages are in lower_storage.cpp, loops in
// lower_loops.cpp, library calls in lower_library.cpp, subgraphs in lower_subgraph.cpp.
#include <algorithm>
#include <unordered_set>

#include "ir/strides.h"
#include "lower/lower_node.h"
#include "lower/undo_view.h"

namespace cleave {

using namespace cleave::loop;

Result<LoweredProgram> lower_graph(const Graph& graph) {
  LoweringOutput output;
  CLEAVE_CHECK(Lowering(graph, output).run());
  return std::move(output.program);
}

namespace {

Layout layout_of(const Type& t) { return {static_shape(t), strides_of(t), 0}; }

}  // namespace

Status Lowering::run() {
  for (size_t i = 0; i < graph_.placeholders().size(); ++i) {
    ValueId v = graph_.placeholders()[i].value;
    const Type& t = graph_.type(v);
    if (!t.is_static())
      return bug("lower: %{} has the symbolic type {}; specialise the graph first", graph_.name(v),
                 t.text());
    if (t.dtype == DType::c64)
      return unsupported("lower: %{}: complex numbers have no kernels", graph_.name(v));
    const size_t storage = new_storage(graph_.name(v), t.dtype, memory_elements(t));
    out_.storages[storage].placeholder = static_cast<int>(i);
    at_[v.v] = {storage, layout_of(t)};
  }
  CLEAVE_CHECK(nodes());
  returns();
  return {};
}

Status Lowering::nodes() {
  places_ = place_values(graph_);
  for (const Return& r : graph_.returns()) returned_[r.value.v] = 1;
  for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) {
    const size_t first_step = out_.steps.size();
    if (Status s = node(n); !s.ok()) {
      const Node& node = graph_.node(n);
      std::string where = graph_.loc_text(node.loc);
      return std::move(s).failure().within(fmt::format("lower: %{}{}", graph_.name(node.out(0)),
                                                       where.empty() ? "" : " (" + where + ")"));
    }
    for (size_t i = first_step; i < out_.steps.size(); ++i) out_.steps[i].node = n;
  }
  return {};
}

Status Lowering::node(NodeId n) {
  const Node& node = graph_.node(n);
  OpView op = graph_.view(n);
  if (!node.op->lower.present())
    return unsupported("{} has no lowering: {}{}", node.op->name, node.op->lower.reason(),
                       node.op->file.empty() ? "" : " (" + node.op->file + ")");
  struct Form {
    Lowering& l;
    NodeId n;
    const OpView& op;
    Status operator()(const ElementwiseRule&) {
      if (!l.read_converted(n, op)) l.single(n);
      return {};
    }
    Status operator()(const ReductionRule&) {
      l.single(n);
      return {};
    }
    Status operator()(const KernelRule& r) {
      l.kernel(n, op, r);
      return {};
    }
    Status operator()(const ViewRule& r) { return l.view(n, op, r); }
    Status operator()(const LibraryRule& r) {
      const std::optional<LibraryForm> form = r.form(op);
      if (!form) return bug("{} was not decomposed", op.name());
      l.library(n, op, *form);
      return {};
    }
    Status operator()(const ForeignRule& r) { return l.foreign(n, op, r); }
    Status operator()(const BranchRule&) { return l.branch(n, op); }
    Status operator()(const LoopRule&) { return l.loop(n, op); }
    Status operator()(const GroupRule&) { return l.fused(n, op); }
    Status operator()(const DecompositionRule&) { return bug("{} was not decomposed", op.name()); }
  };
  return std::visit(Form{*this, n, op}, (*node.op->lower)->form);
}

Lowering::Call Lowering::begin_call(NodeId n, const OpView& op, int start) {
  const Node& node = graph_.node(n);
  Call c;
  c.kernel.name = graph_.name(node.out(0));
  std::optional<Location> begun;
  if (start >= 0) {
    const ValueId v = node.inputs[static_cast<size_t>(start)];
    begun = dense_copy(location(v), graph_.type(v).dtype, graph_.name(node.out(0)));
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    ValueId v = node.inputs[i];
    const auto given = [&] { return begun && static_cast<int>(i) == start ? *begun : location(v); };
    c.operands.push_back(v.valid() ? bind(c.kernel, c.call, given(), graph_.type(v).dtype, false)
                                   : Bound{});
    if (v.valid()) c.kernel.work += graph_.type(v).numel().value();
  }
  for (int k = 0; k < op.out_count(); ++k) {
    ValueId v = node.out(static_cast<uint32_t>(k));
    if (op.out_type(k).is_none || !is_wanted(v)) {
      Bound unwanted;
      if (!op.out_type(k).is_none)
        unwanted.layout = Layout::contiguous(static_shape(op.out_type(k)));
      unwanted.dtype = op.out_type(k).dtype;
      c.results.push_back(unwanted);
      continue;
    }
    at_[v.v] = begun && k == 0 ? *begun : new_result(v);
    c.results.push_back(bind(c.kernel, c.call, at_[v.v], op.out_type(k).dtype, true));
    c.kernel.work += op.out_type(k).numel().value();
  }
  return c;
}

bool Lowering::has_check(const Block& b) {
  return std::any_of(b.begin(), b.end(), [](const Stmt& s) {
    if (std::holds_alternative<Check>(s.node)) return true;
    if (auto* f = std::get_if<For>(&s.node)) return has_check(f->body);
    if (auto* i = std::get_if<If>(&s.node)) return has_check(i->then);
    if (auto* r = std::get_if<Reduce>(&s.node)) return has_check(r->body);
    return false;
  });
}

namespace {

// The text with names of values left out: equal for kernels that differ in names alone.
std::string nameless(Kernel k) {
  k.name = "k";
  k.work = 0;
  for (size_t i = 0; i < k.buffers.size(); ++i) k.buffers[i].name = fmt::format("b{}", i);
  return print(k);
}

// A value and a copy of it may bear one name: the second is %x.2 in the kernel.
void give_each_a_name(std::vector<Buffer>& buffers) {
  std::unordered_set<std::string> taken;
  for (Buffer& b : buffers) {
    std::string name = b.name;
    for (int k = 2; !taken.insert(name).second; ++k) name = fmt::format("{}.{}", b.name, k);
    b.name = std::move(name);
  }
}

}  // namespace

size_t Lowering::add_kernel(Kernel kernel) {
  give_each_a_name(kernel.buffers);
  const auto [it, added] = kernels_.emplace(nameless(kernel), out_.kernels.size());
  if (added) out_.kernels.push_back(std::move(kernel));
  return it->second;
}

void Lowering::finish_call(Call c, const std::string& name, const OpView* op) {
  if (op && !c.kernel.scalars.empty()) c.call.scalars = {op->int_attr("stream")};
  const bool may_fail = has_check(c.kernel.body);
  c.call.kernel = add_kernel(std::move(c.kernel));
  out_.steps.push_back({name, std::move(c.call), may_fail});
}

Status Lowering::view(NodeId n, const OpView& op, const ViewRule& rule) {
  const Node& node = graph_.node(n);
  for (uint32_t k = 0; k < node.output_count; ++k) {
    ValueId v = node.out(k);
    if (op.out_type(static_cast<int>(k)).is_none || !is_wanted(v)) continue;
    Location in = location(node.inputs[0]);
    auto layout = rule.layout(op, in.layout, static_cast<int>(k));
    if (!layout) {
      in = dense_copy(in, graph_.type(node.inputs[0]).dtype, graph_.name(v));
      layout = rule.layout(op, in.layout, static_cast<int>(k));
      if (!layout) return bug("{}: no view of row-major memory", op.name());
    }
    at_[v.v] = {in.storage, *layout};
  }
  return {};
}

void Lowering::kernel(NodeId n, const OpView& op, const KernelRule& rule) {
  const int start = rule.starts_as ? rule.starts_as(op) : -1;
  if (start >= 0 && !is_wanted(graph_.node(n).out(0))) return;
  if (is_join(op) && joined(n, op, rule)) return;
  if (rule.parts && std::cmp_greater(op.list_size(), max_copies_of_a_kernel))
    return joined_apart(n, op, rule);
  Call c = begin_call(n, op, start);
  const std::string& name = graph_.name(graph_.node(n).out(0));
  if (rule.scratch)
    for (const auto& [dtype, shape] : rule.scratch(op)) {
      const Layout layout = Layout::contiguous(shape);
      const Location at{new_storage(name + ".scratch", dtype, layout.numel()), layout};
      c.results.push_back(bind(c.kernel, c.call, at, dtype, true));
    }
  KernelBuilder b(c.kernel, c.operands, c.results);
  rule.build(b, op);
  finish_call(std::move(c), name, &op);
}

Status Lowering::foreign(NodeId n, const OpView& op, const ForeignRule& rule) {
  const Node& node = graph_.node(n);
  ForeignCall call;
  CLEAVE_TRY(call.code, rule.code(op));
  for (ValueId v : node.inputs) {
    if (v.valid())
      call.operands.emplace_back(dense(v).storage);
    else
      call.operands.emplace_back();
  }
  for (int k = 0; k < op.out_count(); ++k) {
    ValueId v = node.out(static_cast<uint32_t>(k));
    at_[v.v] = new_dense(graph_.name(v), op.out_type(k));
    call.results.push_back(at_[v.v].storage);
  }
  out_.steps.push_back({graph_.name(node.out(0)), std::move(call), false});
  return {};
}

// Where the value alone lies as its type says: in the arena, copied there where it doesn't yet.
size_t Lowering::result_storage(ValueId v) {
  const Type& t = graph_.type(v);
  const Location l = location(v);
  const Layout wanted = layout_of(t);
  const Storage& s = out_.storages[l.storage];
  const bool lies_so =
      l.layout.offset == 0 &&
      (wanted.is_contiguous() ? l.layout.is_contiguous() : same_elements(l.layout, wanted));
  if (lies_so && s.placeholder < 0 && s.elements == memory_elements(t)) return l.storage;
  const Location to{new_storage(graph_.name(v), t.dtype, memory_elements(t)), wanted};
  copy(l, to, t.dtype, graph_.name(v));
  return to.storage;
}

// Results get arena memory of their own, updates are copied into their placeholders at the end.
void Lowering::returns() {
  std::vector<std::pair<Location, ValueId>> updates;
  for (const Return& r : graph_.returns()) {
    const DType dtype = graph_.type(r.value).dtype;
    Location l = location(r.value);
    if (r.kind != ReturnKind::update) {
      out_.returns.push_back(result_storage(r.value));
      continue;
    }
    const size_t target = location(r.target).storage;
    out_.returns.push_back(target);
    if (l.storage == target && l.layout == location(r.target).layout) continue;
    if (out_.storages[l.storage].placeholder >= 0)  // it may be written before it is copied
      l = dense_copy(l, dtype, graph_.name(r.value));
    updates.emplace_back(l, r.target);
  }
  for (const auto& [from, target] : updates) {
    const Location& to = location(target);
    copy(from, to, out_.storages[to.storage].dtype, out_.storages[to.storage].name);
  }
}

}  // namespace cleave
