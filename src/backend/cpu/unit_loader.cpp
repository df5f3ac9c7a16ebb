#include "backend/cpu/unit_loader.h"

#include "backend/unit_key.h"
#include "runtime/known_compiler.h"

namespace cleave::cpu {
namespace {

using cache::EntryKind;
using runtime::ObjectCode;

runtime::TextKind kind_of(const SourceUnit& unit) {
  return unit.from == SourceUnit::From::kernels ? runtime::TextKind::kernels
                                                : runtime::TextKind::any;
}

std::string key_of(const std::string& identity, const SourceUnit& unit) {
  return unit_key(identity, static_cast<int>(kind_of(unit)), unit.text);
}

std::vector<std::byte> entry_of(const ObjectCode& object) {
  std::vector<std::byte> out{static_cast<std::byte>(object.form)};
  out.insert(out.end(), object.bytes.begin(), object.bytes.end());
  return out;
}

std::optional<ObjectCode> object_in(std::span<const std::byte> entry) {
  if (entry.empty() || entry[0] > static_cast<std::byte>(ObjectCode::Form::shared)) return {};
  return ObjectCode{.form = static_cast<ObjectCode::Form>(entry[0]),
                    .bytes = {entry.begin() + 1, entry.end()}};
}

std::optional<CodePtr> kept(cache::Store& cache, const std::string& key) {
  const auto entry = cache.read(EntryKind::unit, key);
  if (!entry) return {};
  const auto object = object_in(*entry);
  if (!object) return {};
  Result<CodePtr> code = runtime::load_code(*object);
  return code.ok() ? std::optional(*std::move(code)) : std::nullopt;
}

std::optional<std::string> remembered_identity(cache::Store& cache, const std::string& key) {
  const auto entry = cache.read(EntryKind::compiler, key);
  if (!entry) return {};
  return runtime::known_identity(
      std::string(reinterpret_cast<const char*>(entry->data()), entry->size()));
}

}  // namespace

Result<LoadedUnit> UnitLoader::load(const SourceUnit& unit, const std::string& unit_name,
                                    cache::Store* cache) {
  const bool has_text = unit.key.empty();
  if (cache) {
    std::string key = unit.key;
    if (has_text) {
      CLEAVE_TRY(const std::string known, identity(cache));
      key = key_of(known, unit);
    }
    if (auto code = kept(*cache, key)) return LoadedUnit{*std::move(code), std::move(key)};
  }
  if (!has_text) return bug("{}: the cache has no unit {}", unit_name, unit.key);
  CLEAVE_TRY(const std::shared_ptr<runtime::Compiler> used, compiler());
  ++compiled_;
  CLEAVE_TRY(const ObjectCode object, used->object(unit.text, unit_name, kind_of(unit)));
  Result<CodePtr> code = runtime::load_code(object);
  if (!code.ok()) return std::move(code).failure().within(unit_name);
  LoadedUnit out{*std::move(code), ""};
  if (cache) {
    out.key = key_of(used->identity(), unit);
    cache->write(EntryKind::unit, out.key, entry_of(object));
  }
  return out;
}

Result<std::shared_ptr<runtime::Compiler>> UnitLoader::compiler() {
  const std::lock_guard lock(mutex_);
  return make_compiler();
}

// The lock is held.
Result<std::shared_ptr<runtime::Compiler>> UnitLoader::make_compiler() {
  if (!compiler_) { CLEAVE_TRY(compiler_, runtime::make_compiler(choice_, target_)); }
  return compiler_;
}

Result<std::string> UnitLoader::identity(cache::Store* cache) {
  const std::lock_guard lock(mutex_);
  if (identity_) return *identity_;
  const bool may_be_clang =
      choice_ == CompilerChoice::clang || choice_ == CompilerChoice::automatic;
  const std::string key = cache && may_be_clang ? runtime::known_clang_key(target_) : "";
  if (!key.empty()) identity_ = remembered_identity(*cache, key);
  if (identity_) return *identity_;
  CLEAVE_TRY(const std::shared_ptr<runtime::Compiler> made, make_compiler());
  identity_ = made->identity();
  if (!key.empty() && made->name() == "clang") {
    const std::string text = runtime::remembered_clang(*identity_);
    cache->write(EntryKind::compiler, key, std::as_bytes(std::span(text)));
  }
  return *identity_;
}

}  // namespace cleave::cpu
