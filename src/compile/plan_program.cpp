#include "compile/plan_program.h"

#include "compile/attention_step.h"
#include "compile/convolution_step.h"

namespace cleave {

Result<std::vector<std::shared_ptr<runtime::Gemm>>> add_products(LoweredProgram& program,
                                                                 runtime::GemmCache& cache) {
  std::vector<std::shared_ptr<runtime::Gemm>> products;
  for (Step& step : program.steps) {
    auto* p = std::get_if<ProductCall>(&step.work);
    if (!p) continue;
    runtime::GemmSpec spec;
    spec.dtype = p->dtype;
    spec.batch = p->batch, spec.m = p->m, spec.n = p->n, spec.k = p->k;
    spec.a_batch = p->a.batch_stride, spec.a_row = p->a.row, spec.a_col = p->a.column;
    spec.b_batch = p->b.batch_stride, spec.b_row = p->b.row, spec.b_col = p->b.column;
    spec.a_stored = p->a.stored, spec.b_stored = p->b.stored;
    spec.alpha = p->alpha;
    spec.has_c_in = p->c_in.has_value();
    if (p->c_in) {
      spec.c_in_batch = p->c_in->batch_stride;
      spec.c_in_row = p->c_in->row, spec.c_in_col = p->c_in->column;
      spec.beta = p->beta;
    }
    spec.scales_sums = p->scales_sums, spec.b_is_nibbles = p->b_is_nibbles;
    for (size_t k = 0; k < p->scales.size(); ++k)
      if (p->scales[k]) spec.scales[k] = {true, p->scales[k]->row, p->scales[k]->column};
    CLEAVE_TRY(auto gemm, cache.get(spec));
    p->scratch = add_workspace(program, step.name, gemm->scratch_bytes());
    products.push_back(std::move(gemm));
  }
  return products;
}

Result<PlannedProgram> measure_program(const Graph& graph, runtime::GemmCache& cache, Save save) {
  PlannedProgram out;
  CLEAVE_TRY(out.lowered, lower_graph(graph));
  drop_redundant_checks(out.lowered);
  update_in_place(out.lowered);
  if (save == Save::memory) save_memory(out.lowered);
  CLEAVE_TRY(out.products, add_products(out.lowered, cache));
  CLEAVE_CHECK(add_attentions(out.lowered, cache.target()));
  CLEAVE_CHECK(add_convolutions(out.lowered, cache.target()));
  measure_memory(out.lowered);
  return out;
}

Result<PlannedProgram> plan_program(const Graph& graph, runtime::GemmCache& cache) {
  CLEAVE_TRY(PlannedProgram out, measure_program(graph, cache));
  CLEAVE_CHECK(plan_memory(out.lowered));
  return out;
}

}  // namespace cleave
