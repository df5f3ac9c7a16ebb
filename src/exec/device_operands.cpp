#include "exec/device_operands.h"

#include <algorithm>
#include <cstring>

#include "ir/strides.h"

namespace cleave {
namespace {

// Copies of so few bytes cost what a single one does.
constexpr int64_t small_bytes = 256;

HostTensor view_of(const Type& type, void* data) {
  return HostTensor::borrow(type.dtype, static_shape(type), strides_of(type), data);
}

}  // namespace

DeviceOperands::DeviceOperands(std::shared_ptr<DeviceMemory> memory, Runner& runner,
                               const ThunkProgram& program, const Graph& graph)
    : memory_(std::move(memory)), runner_(runner), program_(program), graph_(graph),
      operands_(runner.placeholder_count()), results_(program.returns.size()) {
  for (size_t k = 0; k < results_.size(); ++k) {
    const Return& r = graph.returns()[k];
    if (r.kind == ReturnKind::update) operands_[graph.value(r.target).index].is_updated = true;
    const Storage& s = program.storages[program.returns[k]];
    if (s.placeholder >= 0)
      operands_[static_cast<size_t>(s.placeholder)].is_returned = true;
    else
      results_[k].is_small = result_bytes(k) > 0 && result_bytes(k) <= small_bytes;
  }
}

Status DeviceOperands::bind(size_t placeholder, const HostMemory& memory) {
  Operand& o = operands_[placeholder];
  const int64_t bytes = runner_.placeholder(placeholder).bytes;
  if (bytes > 0 && o.block.data() == nullptr) {
    CLEAVE_TRY(o.block, DeviceBlock::make(memory_, bytes));
    CLEAVE_TRY(o.staged, DeviceBlock::make(memory_, bytes, DeviceBlock::Kind::pinned));
  }
  if (o.is_updated && bytes > 0 && (o.host != memory.data || o.to.data() != memory.data)) {
    const Type& type = graph_.type(graph_.placeholders()[placeholder].value);
    o.to = view_of(type, memory.data);
    o.from = view_of(type, o.staged.data());
  }
  o.host = memory.data;
  o.is_constant = memory.is_constant;
  o.is_there = o.is_released = false;
  runner_.bind(placeholder, o.block.data());
  return {};
}

void DeviceOperands::bind_there(size_t placeholder, void* data) {
  Operand& o = operands_[placeholder];
  o.host = nullptr;
  o.is_released = false;
  runner_.bind(placeholder, data);
}

Status DeviceOperands::copy_in(const Instance::Release* release) {
  for (size_t p = 0; p < operands_.size(); ++p) {
    Operand& o = operands_[p];
    if (o.host == nullptr) continue;
    if (o.block.data() != nullptr && !o.is_there) {
      const int64_t bytes = o.block.bytes();
      std::memcpy(o.staged.data(), o.host, static_cast<size_t>(bytes));
      CLEAVE_CHECK(memory_->copy_in(o.block.data(), o.staged.data(), bytes, queue()));
      o.is_there = o.is_constant;
    }
    if (release == nullptr || o.is_returned || o.is_updated || !(*release)(p)) continue;
    o.host = nullptr;
    o.is_released = true;
  }
  return {};
}

Status DeviceOperands::copy_out() {
  for (const Operand& o : operands_)
    if (o.is_updated && o.host != nullptr && o.block.data() != nullptr)
      CLEAVE_CHECK(memory_->copy_out(o.staged.data(), o.block.data(), o.block.bytes(), queue()));
  for (size_t k = 0; k < results_.size(); ++k)
    if (results_[k].is_small) CLEAVE_CHECK(fill(k));
  return {};
}

void DeviceOperands::succeed() {
  for (Operand& o : operands_)
    if (o.is_updated && o.host != nullptr && o.block.data() != nullptr) o.to.copy_from(o.from);
  const std::lock_guard lock(mutex_);
  for (ResultCopy& r : results_) r.is_fresh = r.is_small;
}

void DeviceOperands::unbind_released() {
  for (size_t p = 0; p < operands_.size(); ++p)
    if (operands_[p].is_released) runner_.bind(p, nullptr);
}

int64_t DeviceOperands::result_bytes(size_t k) const {
  return memory_bytes(returned_type(graph_, k));
}

// Enqueues the copy of a result.
Status DeviceOperands::fill(size_t k) {
  ResultCopy& r = results_[k];
  const int64_t bytes = result_bytes(k);
  if (r.staged.data() == nullptr) {
    CLEAVE_TRY(r.staged, DeviceBlock::make(memory_, bytes, DeviceBlock::Kind::pinned));
  }
  return memory_->copy_out(r.staged.data(), runner_.result(k), bytes, queue());
}

const void* DeviceOperands::result(size_t k) {
  const int placeholder = program_.storages[program_.returns[k]].placeholder;
  if (placeholder >= 0)
    if (void* const host = operands_[static_cast<size_t>(placeholder)].host) return host;
  const std::lock_guard lock(mutex_);
  ResultCopy& r = results_[k];
  if (!r.is_fresh && result_bytes(k) > 0) {
    value_or_throw(fill(k));
    value_or_throw(memory_->wait(queue()));
    r.is_fresh = true;
  }
  return r.staged.data();
}

bool DeviceOperands::overlaps_results(const void* data, int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(results_,
                             [&](const ResultCopy& r) { return r.staged.overlaps(data, bytes); });
}

const void* DeviceOperands::to_read(size_t placeholder) {
  const Operand& o = operands_[placeholder];
  const int64_t bytes = runner_.placeholder(placeholder).bytes;
  if (o.host != nullptr || o.is_released || bytes == 0 || runner_.bound(placeholder) == nullptr)
    return o.host;
  read_.resize(static_cast<size_t>(bytes));
  const bool done =
      memory_->copy_out(read_.data(), runner_.bound(placeholder), bytes, queue()).ok() &&
      memory_->wait(queue()).ok();
  return done ? read_.data() : nullptr;
}

}  // namespace cleave
