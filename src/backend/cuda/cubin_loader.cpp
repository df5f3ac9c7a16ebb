#include "backend/cuda/cubin_loader.h"

#include "backend/unit_key.h"

namespace cleave::cuda {

using cache::EntryKind;

Result<std::string> CubinLoader::identity() const {
  CLEAVE_TRY(const NvrtcPtr compiler, compiler_());
  return compiler->identity(arch_);
}

Result<LoadedCubin> CubinLoader::load(const SourceUnit& unit, const std::string& unit_name,
                                      const CudaDevicePtr& device, cache::Store* cache) {
  if (unit.loaded)  // by this backend, for another program
    return LoadedCubin{std::static_pointer_cast<const CudaModule>(unit.loaded), unit.key};
  LoadedCubin out{nullptr, unit.key};
  const bool has_text = out.key.empty();
  if (cache) {
    if (has_text) {
      CLEAVE_TRY(const std::string compiler, identity());
      out.key = unit_key(compiler, 0, unit.text);
    }
    if (const auto kept = cache->read(EntryKind::unit, out.key)) {
      Result<CudaModulePtr> code = CudaModule::load(device, *kept);
      if (code.ok()) return LoadedCubin{*std::move(code), std::move(out.key)};
    }
  }
  if (!has_text) return bug("{}: the cache has no unit {}", unit_name, out.key);
  CLEAVE_TRY(const NvrtcPtr compiler, compiler_());
  ++compiled_;
  CLEAVE_TRY(const std::vector<std::byte> cubin, compiler->compile(unit.text, arch_, unit_name));
  Result<CudaModulePtr> code = CudaModule::load(device, cubin);
  if (!code.ok()) return std::move(code).failure().within(unit_name);
  out.code = *std::move(code);
  if (cache) cache->write(EntryKind::unit, out.key, cubin);
  return out;
}

}  // namespace cleave::cuda
