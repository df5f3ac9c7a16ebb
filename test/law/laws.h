// The laws that hold for every operator's entry, each a function of the entry alone: they use its
// samples, so a new operator needs no test of its own.
//
// A broken law is a failure that names the sample. A law that has nothing to check for an entry
// (for example without a gradient rule) holds.
#pragma once
#include "cleave/target.h"
#include "ir/op_def.h"

namespace cleave::law {

// Of all entries, for a test of each.
std::vector<std::string> op_names(const OpRegistry& ops);

// Summary, source and samples are there, absent rules have a reason, samples hold as many operands
// as the signature. A call's cost counts the bytes of all operands and results once, or none (a
// view's); with subgraphs, whatever these cost.
Status entry_law(const OpDef& op);

// infer gives the shapes and dtypes of the reference on every sample.
Status infer_law(const OpDef& op);

// decompose gives the reference's values: within 1e-12 in f64 and f32, 2e-2 where a bf16 or f16
// value is rounded between; integers and the places of NaN exactly.
Status decompose_law(const OpRegistry& ops, const OpDef& op);

// grad gives the central differences of the reference in float64, under random cotangents, within
// 1e-6; and, on small samples, the gradient of the gradient those of the gradient. The second holds
// as well where a rule of the gradient's own operators is Absent. Asked for one operand alone, it
// gives the same; so it does for each result alone, and nothing for results that the entry marks as
// not differentiable; at the dtypes of a bf16 or f16 sample what it gives in f64 (bf16 1/128, f16
// 1/512).
Status grad_law(const OpRegistry& ops, const OpDef& op);

// The text of a call reads back as the same text, and verifies.
Status text_law(const OpRegistry& ops, const OpDef& op);

// Each reject fails, by infer or by the reference, with exactly its text.
Status reject_law(const OpDef& op);

// The samples, compiled for the target, give the reference's values (f64 1e-11, f32 3e-5, bf16
// 1/128, f16 1/1024; integers exactly), with the same bits on 1 and 2 threads, and the same values
// as bytecode. Rejects that infer accepts fail as bytecode with their text. Bytecode is the same
// for all targets: so are the bits of all that is no product, attention or convolution.
Status lowered_law(const OpRegistry& ops, const OpDef& op, const Target& target = Target::here());

// How many samples the gradient law compares with differences, of the first order: 0 is a hole
// where the entry has a rule.
int64_t grad_samples(const OpRegistry& ops, const OpDef& op);

}  // namespace cleave::law
