// See jit_loader.h.
#include "clang/jit_loader.h"

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>

#include <map>

#include "base/poison.h"

namespace cleave::runtime {
namespace {

Failure link_failure(llvm::Error error) {
  return bug("compiler: clang: link: {}", llvm::toString(std::move(error)));
}

class JitCode final : public LoadedCode {
 public:
  explicit JitCode(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}

  // The linker reports the cause to a reporter; the caller gets only the resulting failure.
  Status link(const std::vector<std::string>& names) {
    std::string reported;
    auto& session = jit_->getExecutionSession();
    session.setErrorReporter(
        [&](llvm::Error error) { reported += llvm::toString(std::move(error)) + "; "; });
    Status status = look_up(names);
    session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
    if (status.ok()) return status;
    return bug("compiler: clang: link: {}{}", reported, status.failure().message);
  }
  void* symbol(const std::string& name) const override {
    const auto found = addresses_.find(name);
    return found == addresses_.end() ? nullptr : found->second;
  }

 private:
  Status look_up(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      auto address = jit_->lookup(name);
      if (!address) return bug("{}", llvm::toString(address.takeError()));
      addresses_[name] = address->toPtr<void*>();
    }
    return {};
  }

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::map<std::string, void*> addresses_;
};

llvm::orc::SymbolMap mapped(std::span<const ExternalSymbol> outside, llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap map;
  for (const ExternalSymbol& symbol : outside)
    map[jit.mangleAndIntern(symbol.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  return map;
}

// Defines the symbols that the sanitizers' checks call.
llvm::Error add_sanitizers(llvm::orc::LLJIT& jit) {
  if (!watches_memory) return llvm::Error::success();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix(), [](const llvm::orc::SymbolStringPtr& name) {
        return (*name).starts_with("__asan_") || (*name).starts_with("__ubsan_");
      });
  if (!process) return process.takeError();
  jit.getMainJITDylib().addGenerator(std::move(*process));
  return llvm::Error::success();
}

}  // namespace

Result<std::shared_ptr<LoadedCode>> load_object(std::unique_ptr<llvm::MemoryBuffer> object,
                                                const std::string& triple,
                                                const std::vector<std::string>& names,
                                                std::span<const ExternalSymbol> outside) {
  llvm::orc::JITTargetMachineBuilder target{llvm::Triple(triple)};
  auto made = llvm::orc::LLJITBuilder()
                  .setJITTargetMachineBuilder(std::move(target))
                  .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                  .setLinkProcessSymbolsByDefault(false)
                  .create();
  if (!made) return link_failure(made.takeError());
  std::unique_ptr<llvm::orc::LLJIT> jit = std::move(*made);
  auto& library = jit->getMainJITDylib();
  if (auto error = library.define(llvm::orc::absoluteSymbols(mapped(outside, *jit))))
    return link_failure(std::move(error));
  if (auto error = add_sanitizers(*jit)) return link_failure(std::move(error));
  if (auto error = jit->addObjectFile(std::move(object))) return link_failure(std::move(error));
  auto code = std::make_shared<JitCode>(std::move(jit));
  CLEAVE_CHECK(code->link(names));
  return std::shared_ptr<LoadedCode>(std::move(code));
}

}  // namespace cleave::runtime
