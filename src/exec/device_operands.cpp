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
    else if (result_bytes(k) > 0 && result_bytes(k) <= small_bytes)
      small_.push_back(k);
  }
  for (const size_t k : small_) results_[k].is_small = true;
}

Status DeviceOperands::make(DeviceBlock& staged, int64_t bytes) const {
  if (staged.data() != nullptr || bytes == 0) return {};
  CLEAVE_TRY(staged, DeviceBlock::make(memory_, bytes, DeviceBlock::Kind::pinned));
  return {};
}

Status DeviceOperands::make(Copy& copy, int64_t bytes) const {
  if (copy.block.data() != nullptr || bytes == 0) return {};
  CLEAVE_TRY(copy.block, DeviceBlock::make(memory_, bytes));
  return make(copy.staged, bytes);
}

Status DeviceOperands::bind(size_t placeholder, const HostMemory& memory) {
  Operand& o = operands_[placeholder];
  Copy& first = o.copies[0];
  CLEAVE_CHECK(make(first, runner_.placeholder(placeholder).bytes));
  if (o.is_updated && first.staged.data() != nullptr &&
      (o.host != memory.data || o.to.data() != memory.data)) {
    const Type& type = graph_.type(graph_.placeholders()[placeholder].value);
    o.to = view_of(type, memory.data);
    o.from = view_of(type, first.staged.data());
  }
  if (std::ranges::find(hosted_, placeholder) == hosted_.end()) hosted_.push_back(placeholder);
  o.host = memory.data;
  o.is_constant = memory.is_constant;
  o.is_there = o.is_released = false;
  if (runner_.bound(placeholder) == nullptr) runner_.bind(placeholder, first.block.data());
  return {};
}

void DeviceOperands::bind_there(size_t placeholder, void* data) {
  Operand& o = operands_[placeholder];
  o.host = nullptr;
  o.is_released = false;
  runner_.bind(placeholder, data);
}

bool DeviceOperands::writes_shared() const {
  return std::ranges::any_of(hosted_, [&](size_t p) {
    const Operand& o = operands_[p];
    return o.host != nullptr && !o.is_there && (o.is_constant || o.is_updated);
  });
}

bool DeviceOperands::has_updates() const {
  return std::ranges::any_of(
      hosted_, [&](size_t p) { return operands_[p].is_updated && operands_[p].host != nullptr; });
}

Status DeviceOperands::copy_in(size_t turn, void* queue, const Instance::Release* release) {
  for (const size_t k : small_)
    if (DeviceBlock& staged = results_[k].staged[turn]; staged.data() == nullptr)
      CLEAVE_CHECK(make(staged, result_bytes(k)));
  for (const size_t p : hosted_) {
    Operand& o = operands_[p];
    if (o.host == nullptr) continue;
    Copy& copy = o.copies[o.turn(turn)];
    if (copy.block.data() == nullptr) CLEAVE_CHECK(make(copy, runner_.placeholder(p).bytes));
    if (runner_.bound(p) != copy.block.data()) runner_.bind(p, copy.block.data());
    if (copy.block.data() != nullptr && !o.is_there) {
      const int64_t bytes = copy.block.bytes();
      std::memcpy(copy.staged.data(), o.host, static_cast<size_t>(bytes));
      CLEAVE_CHECK(memory_->copy_in(copy.block.data(), copy.staged.data(), bytes, queue));
      o.is_there = o.is_constant;
    }
    if (release == nullptr || o.is_returned || o.is_updated || !(*release)(p)) continue;
    o.host = nullptr;
    o.is_released = true;
  }
  return {};
}

Status DeviceOperands::copy_out(size_t turn) {
  for (const size_t p : hosted_) {
    const Operand& o = operands_[p];
    const auto& [block, staged] = o.copies[0];
    if (o.is_updated && o.host != nullptr && block.data() != nullptr)
      CLEAVE_CHECK(memory_->copy_out(staged.data(), block.data(), block.bytes(), queue()));
  }
  for (const size_t k : small_) {
    const DeviceBlock& staged = results_[k].staged[turn];
    CLEAVE_CHECK(memory_->copy_out(staged.data(), runner_.result(k), staged.bytes(), queue()));
  }
  return {};
}

void DeviceOperands::end(size_t turn, bool succeeded) {
  for (const size_t p : hosted_) {
    Operand& o = operands_[p];
    if (succeeded && o.is_updated && o.host != nullptr && o.copies[0].block.data() != nullptr)
      o.to.copy_from(o.from);
  }
  const std::lock_guard lock(mutex_);
  ended_ = turn;
  if (succeeded)
    for (ResultCopy& r : results_) r.is_fresh = r.is_small;
}

void DeviceOperands::unbind_released() {
  for (const size_t p : hosted_)
    if (operands_[p].is_released) runner_.bind(p, nullptr);
}

int64_t DeviceOperands::result_bytes(size_t k) const {
  return memory_bytes(returned_type(graph_, k));
}

const void* DeviceOperands::result(size_t k) {
  const int placeholder = program_.storages[program_.returns[k]].placeholder;
  if (placeholder >= 0)
    if (void* const host = operands_[static_cast<size_t>(placeholder)].host) return host;
  const std::lock_guard lock(mutex_);
  ResultCopy& r = results_[k];
  DeviceBlock& staged = r.staged[r.is_small ? ended_ : 0];
  if (const int64_t bytes = result_bytes(k); !r.is_fresh && bytes > 0) {
    value_or_throw(make(staged, bytes));
    value_or_throw(memory_->copy_out(staged.data(), runner_.result(k), bytes, queue()));
    value_or_throw(memory_->wait(queue()));
    r.is_fresh = true;
  }
  return staged.data();
}

const void* DeviceOperands::small_result(size_t k) const {
  const std::lock_guard lock(mutex_);
  return results_[k].is_small ? results_[k].staged[ended_].data() : nullptr;
}

bool DeviceOperands::overlaps_results(const void* data, int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(results_, [&](const ResultCopy& r) {
    return std::ranges::any_of(r.staged,
                               [&](const DeviceBlock& b) { return b.overlaps(data, bytes); });
  });
}

const void* DeviceOperands::to_read(size_t placeholder, size_t turn) {
  const Operand& o = operands_[placeholder];
  const int64_t bytes = runner_.placeholder(placeholder).bytes;
  if (o.host != nullptr) return o.copies[o.turn(turn)].staged.data();
  if (o.is_released || bytes == 0 || runner_.bound(placeholder) == nullptr) return nullptr;
  read_.resize(static_cast<size_t>(bytes));
  const bool done =
      memory_->copy_out(read_.data(), runner_.bound(placeholder), bytes, queue()).ok() &&
      memory_->wait(queue()).ok();
  return done ? read_.data() : nullptr;
}

}  // namespace cleave
