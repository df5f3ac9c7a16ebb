// The compiler in this process: clang's front end, LLVM's passes, the linker ORC.
//
//   text --clang (from memory, an empty file system)--> IR --passes--> IR --codegen--> object
//        --LLJIT--> addresses
//
// Each compile has its own LLVM context, target machine and JIT, so that any number may run at
// once; nothing process-wide is changed but the registration of the host's target, done once. What
// may be called from outside is the table of external_symbols.h, not whatever the process holds.
//
// The passes are -O3 without interleaving, unrolling by the loop passes' own choice and SLP: on
// four kernels of a GPT (bias + GELU and its derivative, softmax, layer norm) that takes a third
// off the time and off the code and slows none of them.
#include "runtime/compiler.h"

#if CLEAVE_HAVE_CLANG
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/external_symbols.h"

namespace cleave::runtime {
namespace {

// The processor that the code is for: this one.
struct Host {
  std::string triple, cpu;
  std::vector<std::string> features;  // "+avx2", "-sse4a", sorted
  std::string feature_text;           // the same, joined by commas
  std::string vector_bits;            // how wide a vector the passes may choose

  static Host here();
};

Host Host::here() {
  Host host;
  host.triple = llvm::sys::getProcessTriple();
  host.cpu = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    host.features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(host.features.begin(), host.features.end());
  for (const std::string& feature : host.features)
    host.feature_text += (host.feature_text.empty() ? "" : ",") + feature;
  const auto has = [&](const char* feature) {
    return std::binary_search(host.features.begin(), host.features.end(), feature);
  };
  host.vector_bits = has("+avx512f") && has("+avx512vl") ? "512" : "256";
  return host;
}

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

// The arguments of clang's own front end (`clang -cc1`).
std::vector<std::string> front_end_arguments(const Host& host) {
  std::vector<std::string> args = {
      "-triple", host.triple, "-target-cpu", host.cpu,
      "-emit-llvm", "-x", "c", "-std=gnu11", "-O3", "-disable-llvm-passes", "-w",
      "-nostdsysteminc", "-nobuiltininc",
      "-ffp-contract=off", "-mrelocation-model", "pic", "-pic-level", "2",
      "-mprefer-vector-width=" + host.vector_bits};
  for (const std::string& feature : host.features) {
    args.push_back("-target-feature");
    args.push_back(feature);
  }
  args.push_back("kernel.c");
  return args;
}

// C text to IR, or the diagnostics.
Result<std::unique_ptr<llvm::Module>> parse(const std::string& text, const std::string& unit_name,
                                            const Host& host, llvm::LLVMContext& context) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions);
  clang::CompilerInstance instance;
  instance.createDiagnostics(new clang::TextDiagnosticPrinter(stream, options.get()));

  const std::vector<std::string> words = front_end_arguments(host);
  std::vector<const char*> args;
  for (const std::string& word : words) args.push_back(word.c_str());
  if (!clang::CompilerInvocation::CreateFromArgs(instance.getInvocation(), args,
                                                 instance.getDiagnostics()))
    return bug("compiler: clang: {}: options: {}", unit_name, stream.str());
  // What was parsed from the arguments names a file; the text is in memory instead.
  const std::string file = unit_name + ".c";
  const llvm::MemoryBufferRef buffer(text, file);
  instance.getFrontendOpts().Inputs = {
      clang::FrontendInputFile(buffer, clang::InputKind(clang::Language::C))};
  instance.createFileManager(llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>());

  clang::EmitLLVMOnlyAction action(&context);
  if (!instance.ExecuteAction(action))
    return bug("compiler: clang: {} doesn't compile:\n{}", unit_name, stream.str());
  std::unique_ptr<llvm::Module> module = action.takeModule();
  if (!module) return bug("compiler: clang: {}: no code came: {}", unit_name, stream.str());
  return module;
}

Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const Host& host) {
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(host.triple, message);
  if (!target) return unsupported("compiler: clang: {}: {}", host.triple, message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.NoTrappingFPMath = true;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      host.triple, host.cpu, host.feature_text, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (!machine) return bug("compiler: clang: no code generator for {}", host.triple);
  return machine;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = false;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

Result<std::unique_ptr<llvm::MemoryBuffer>> generate(llvm::Module& module,
                                                     llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* context = nullptr;
  if (machine.addPassesToEmitMC(passes, context, stream, /*DisableVerify=*/true))
    return bug("compiler: clang: the target can't write objects");
  passes.run(module);
  return std::unique_ptr<llvm::MemoryBuffer>(new llvm::SmallVectorMemoryBuffer(
      std::move(bytes), "object", /*RequiresNullTerminator=*/false));
}

class JitCode final : public LoadedCode {
 public:
  explicit JitCode(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}
  Status resolve(const std::vector<std::string>& names);
  void* symbol(const std::string& name) const override {
    const auto found = addresses_.find(name);
    return found == addresses_.end() ? nullptr : found->second;
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::map<std::string, void*> addresses_;
};

Status JitCode::resolve(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    auto address = jit_->lookup(name);
    if (!address) return bug("compiler: clang: link: {}", text_of(address.takeError()));
    addresses_[name] = address->toPtr<void*>();
  }
  return {};
}

Result<std::shared_ptr<LoadedCode>> load(std::unique_ptr<llvm::MemoryBuffer> object,
                                         const Host& host,
                                         const std::vector<std::string>& names) {
  llvm::orc::JITTargetMachineBuilder target{llvm::Triple(host.triple)};
  auto made = llvm::orc::LLJITBuilder()
                  .setJITTargetMachineBuilder(std::move(target))
                  .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                  .setLinkProcessSymbolsByDefault(false)
                  .create();
  if (!made) return bug("compiler: clang: JIT: {}", text_of(made.takeError()));
  std::unique_ptr<llvm::orc::LLJIT> jit = std::move(*made);
  llvm::orc::SymbolMap outside;
  for (const ExternalSymbol& symbol : external_symbols())
    outside[jit->mangleAndIntern(symbol.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  auto& library = jit->getMainJITDylib();
  if (auto error = library.define(llvm::orc::absoluteSymbols(std::move(outside))))
    return bug("compiler: clang: JIT: {}", text_of(std::move(error)));
  if (auto error = jit->addObjectFile(std::move(object)))
    return bug("compiler: clang: JIT: {}", text_of(std::move(error)));
  auto code = std::make_shared<JitCode>(std::move(jit));
  CLEAVE_CHECK(code->resolve(names));
  return std::shared_ptr<LoadedCode>(std::move(code));
}

std::vector<std::string> visible_functions(const llvm::Module& module) {
  std::vector<std::string> names;
  for (const llvm::Function& function : module)
    if (!function.isDeclaration() && function.hasExternalLinkage())
      names.push_back(function.getName().str());
  return names;
}

class ClangCompiler final : public Compiler {
 public:
  explicit ClangCompiler(Host host)
      : host_(std::move(host)),
        identity_(fmt::format("clang {} {} {} {} {} lean-O3", clang::getClangFullVersion(),
                              host_.triple, host_.cpu, host_.feature_text, host_.vector_bits)) {}

  Result<std::shared_ptr<LoadedCode>> compile(const std::string& c_text,
                                              const std::string& unit_name) override {
    llvm::LLVMContext context;
    CLEAVE_TRY(std::unique_ptr<llvm::Module> module, parse(c_text, unit_name, host_, context));
    CLEAVE_TRY(std::unique_ptr<llvm::TargetMachine> machine, target_machine(host_));
    const std::vector<std::string> names = visible_functions(*module);
    optimise(*module, *machine);
    CLEAVE_TRY(std::unique_ptr<llvm::MemoryBuffer> object, generate(*module, *machine));
    return load(std::move(object), host_, names);
  }
  std::string_view name() const override { return "clang"; }
  const std::string& identity() const override { return identity_; }

 private:
  const Host host_;
  const std::string identity_;
};

}  // namespace

Result<std::shared_ptr<Compiler>> make_clang_compiler() {
  static std::once_flag registered;
  std::call_once(registered, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  return std::shared_ptr<Compiler>(std::make_shared<ClangCompiler>(Host::here()));
}

}  // namespace cleave::runtime
#endif  // CLEAVE_HAVE_CLANG
