#include "compile/attention_step.h"

namespace cleave {
namespace {

using Part = AttentionPart;

runtime::HeadStrides strides_of(const std::optional<AttentionCall::Matrix>& m) {
  if (!m) return {};
  return {m->batch_stride, m->head_stride, m->row, m->column};
}

runtime::AttentionSpec spec_of(const AttentionCall& call) {
  runtime::AttentionSpec s;
  s.dtype = call[Part::query]->dtype;
  s.batch = call.batch, s.heads = call.heads;
  s.key_group = call.form.key_group, s.value_group = call.form.value_group;
  s.rows = call.rows, s.columns = call.columns;
  s.width = call.width, s.value_width = call.value_width;
  s.query = strides_of(call[Part::query]);
  s.key = strides_of(call[Part::key]);
  s.value = strides_of(call[Part::value]);
  s.out = strides_of(call[Part::out]);
  if (call[Part::logsumexp]) s.sum_rows = call[Part::logsumexp]->head_stride;
  s.scale = call.form.scale;
  s.is_causal = call.form.is_causal;
  if (call[Part::mask]) s.mask = call[Part::mask]->dtype;
  s.mask_at = strides_of(call[Part::mask]);
  s.dropout_p = call.form.dropout_p;
  s.stream = call.form.stream;
  return s;
}

Result<AttentionStep> step_of(const AttentionCall& call, const Target& target) {
  AttentionStep step;
  if (!call.form.is_backward) {
    CLEAVE_TRY(step.forward, runtime::Attention::make(spec_of(call), target));
    return step;
  }
  runtime::AttentionBackwardSpec spec;
  spec.forward = spec_of(call);
  spec.dout = strides_of(call[Part::dout]);
  spec.dquery = strides_of(call[Part::dquery]);
  spec.dkey = strides_of(call[Part::dkey]);
  spec.dvalue = strides_of(call[Part::dvalue]);
  spec.wants_dquery = call[Part::dquery].has_value();
  spec.wants_dkey = call[Part::dkey].has_value();
  spec.wants_dvalue = call[Part::dvalue].has_value();
  CLEAVE_TRY(step.backward, runtime::AttentionGradient::make(spec, target));
  return step;
}

}  // namespace

int64_t AttentionStep::scratch_bytes() const {
  return forward ? forward->scratch_bytes() : backward->scratch_bytes();
}

void AttentionStep::run(const AttentionCall& call, std::span<std::byte* const> base,
                        Executor& executor) const {
  const auto at = [&](Part part) -> void* {
    const auto& m = call[part];
    return m ? base[m->storage] + m->offset * size_of(m->dtype) : nullptr;
  };
  const auto number = [&](Part part) { return static_cast<const int64_t*>(at(part)); };
  const runtime::AttentionOperands in{at(Part::query), at(Part::key),      at(Part::value),
                                      at(Part::mask),  number(Part::seed), number(Part::step)};
  void* scratch = call.scratch ? base[*call.scratch] : nullptr;
  auto* sums = static_cast<float*>(at(Part::logsumexp));
  if (forward)
    forward->run({in, at(Part::out), sums}, scratch, executor);
  else
    backward->run({in, at(Part::out), sums, at(Part::dout), at(Part::dquery), at(Part::dkey),
                   at(Part::dvalue)},
                  scratch, executor);
}

Result<std::vector<AttentionStep>> add_attentions(LoweredProgram& program, const Target& target) {
  std::vector<AttentionStep> attentions;
  for (Step& step : program.steps) {
    auto* call = std::get_if<AttentionCall>(&step.work);
    if (!call) continue;
    CLEAVE_TRY(AttentionStep attention, step_of(*call, target));
    call->scratch = add_workspace(program, step.name, attention.scratch_bytes());
    attentions.push_back(std::move(attention));
  }
  return attentions;
}

}  // namespace cleave
