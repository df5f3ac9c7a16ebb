#include "import/onnx/subgraph.h"

namespace cleave::onnx {
namespace {

// Leaves the frame at the end of its scope.
class InFrame {
 public:
  InFrame(Importer& importer, Graph& g) : importer_(importer) { importer.frames().push_back({&g}); }
  ~InFrame() { importer_.frames().pop_back(); }
  InFrame(const InFrame&) = delete;
  InFrame& operator=(const InFrame&) = delete;

 private:
  Importer& importer_;
};

Status declare_symbols(const Graph& from, Graph& to) {
  for (const Placeholder& p : from.placeholders()) {
    if (p.role != Role::symint) continue;
    CLEAVE_TRY([[maybe_unused]] const ValueId id,
               to.add_placeholder(Role::symint, from.name(p.value), Type(), false, p.sym));
  }
  return {};
}

}  // namespace

Result<Subgraph> write_subgraph(Call& c, const std::string& name, const std::vector<Value>& own,
                                Values& captured, const WriteBody& write) {
  Importer& importer = c.importer();
  auto g = std::make_shared<Graph>(name);
  const Graph& around = importer.top();
  CLEAVE_CHECK(declare_symbols(around, *g));
  std::vector<Value> operands;
  std::vector<Type> types;
  for (const Value& v : own) types.push_back(importer.type(v));
  const InFrame frame(importer, *g);
  for (size_t k = 0; k < own.size(); ++k) {
    CLEAVE_TRY(const ValueId id,
               g->add_placeholder(Role::input, g->fresh_name("carried"), types[k]));
    operands.push_back(importer.made(id, own[k].element));
  }
  const size_t here = importer.frames().size() - 1;
  for (const V v : captured)
    if (!importer.lifted(v, here - 1, here).valid())
      return bug("a value can't be read in @{}", name);
  CLEAVE_TRY(const std::vector<Value> results, write(operands));
  Subgraph out;
  Builder b(*g, importer.ops());
  for (const Value& v : results) {
    if (v.kind == Value::Kind::refused) return unsupported("its graph isn't covered");
    const V id = importer.resolve(v, b);
    CLEAVE_CHECK(Status(b.status()));
    if (!id.valid()) return unsupported("a result of its graph is no tensor");
    g->add_return({id});
    out.elements.push_back(v.element);
  }
  captured = importer.frames().back().outer;
  out.graph = std::move(g);
  return out;
}

}  // namespace cleave::onnx
