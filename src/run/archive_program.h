// Programs as bytes (base/archive.h): all that a run reads. What is read lacks the functions of
// library calls and of callbacks.
#pragma once
#include "base/archive.h"
#include "library/archive_spec.h"
#include "run/phase.h"
#include "run/program.h"

namespace cleave {

template <class A>
void archive(A& a, Is<Storage> auto& s) {
  auto& [name, dtype, elements, bytes, placeholder, workspace, first, last, parts] = s;
  a(name, dtype, elements, bytes, placeholder, workspace, first, last);
}

template <class A>
void archive(A& a, Is<InPlace> auto& p) {
  auto& [operand, result] = p;
  a(operand, result);
}

template <class A>
void archive(A& a, Is<KernelCall> auto& c) {
  auto& [kernel, storages, scalars, in_place, whole_copy] = c;
  a(kernel, storages, scalars, in_place, whole_copy);
}

template <class A>
void archive(A& a, Is<Layout> auto& l) {
  auto& [shape, strides, offset] = l;
  a(shape, strides, offset);
}

template <class A>
void archive(A& a, Is<LibraryCall::Operand> auto& o) {
  auto& [position, storage, access, dtype, layout] = o;
  a(position, storage, access, dtype, layout);
}

template <class A>
void archive(A& a, Is<LibraryCall> auto& c) {
  auto& [spec, operands, function, workspace] = c;
  a(spec, operands, workspace);
}

template <class A>
void archive(A& a, Is<ForeignCall> auto& c) {
  auto& [code, operands, results] = c;
  auto& [c_text, symbol, sizes, call] = code;
  a(c_text, symbol, sizes, operands, results);
}

template <class A>
void archive(A& a, Is<JumpCall::Flag> auto& f) {
  auto& [storage, offset] = f;
  a(storage, offset);
}

template <class A>
void archive(A& a, Is<JumpCall> auto& c) {
  auto& [unless, target] = c;
  a(unless, target);
}

template <class A>
void archive(A& a, Is<TransferCall> auto& c) {
  auto& [step, number, storage, host_offset] = c;
  a(step, number, storage, host_offset);
}

template <class A>
void archive(A& a, Is<Thunk> auto& t) {
  auto& [name, work, may_fail, node] = t;
  a(name, work, may_fail, node.v);
}

template <class A>
void archive(A& a, Is<MemoryBound> auto& b) {
  auto& [placeholders, arena] = b;
  a(placeholders, arena);
}

template <class A>
void archive(A& a, Is<JoinedCalls> auto& j) {
  auto& [begin, end] = j;
  a(begin, end);
}

template <class A>
void archive(A& a, Is<ThunkProgram> auto& p) {
  auto& [storages, thunks, returns, joined] = p;
  a(storages, thunks, returns, joined);
}

template <class A>
void archive(A& a, Is<Launch> auto& l) {
  auto& [blocks, threads, shared_bytes, buffers, scalars, written] = l;
  a(blocks, threads, shared_bytes, buffers, scalars, written);
}

template <class A>
void archive(A& a, Is<KernelPhase> auto& p) {
  auto& [symbol, extent, launch] = p;
  a(symbol, extent, launch);
}

template <class A>
void archive(A& a, Is<CheckText> auto& c) {
  auto& [message, from_zero] = c;
  a(message, from_zero);
}

}  // namespace cleave
