// The in-process compiler: clang's front end, LLVM's passes and code generator.
//
//   text --parse_c--> IR --optimise--> IR --generate--> object
//
// Each compile has its own LLVM context and target machine, so that any number may run at once.
// Vector code needs little optimization beyond inlining, so few passes are kept, no vectorizer and
// no unroller. On a Cascade Lake they take 0.55 of the time of -O3 without interleaving, unrolling
// and SLP, and the code is no slower: gelu 0.85 of its time, softmax 1.04, layer norm 1.0, Adam 1.0
// (bench_kernels, 2026-11). Other text gets that -O3. With AVX-512, vectors are 512 bits wide: on a
// Sapphire Rapids those kernels take 0.65 of the time of 256 bits (softmax and norm 0.9; 2026-11).
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "base/poison.h"
#include "clang/front_end.h"
#include "clang/host_target.h"
#include "runtime/clang_plugin.h"

namespace cleave::runtime {

HostTarget HostTarget::of(const Target& target, std::string_view text) {
  HostTarget host;
  host.triple = llvm::sys::getProcessTriple();
  if (target.set == InstructionSet::neon) {
    host.cpu = "generic";
  } else if (target.is_native) {
    host.cpu = llvm::sys::getHostCPUName().str();
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      host.features.push_back((feature.second ? "+" : "-") + feature.first().str());
  } else if (target.set >= InstructionSet::avx512bf16) {
    host.cpu = "x86-64-v4";
    host.features = {"+avx512bf16"};
  } else {
    host.cpu = text;
  }
  std::sort(host.features.begin(), host.features.end());
  for (const std::string& feature : host.features)
    host.feature_text += (host.feature_text.empty() ? "" : ",") + feature;
  host.vector_bits = target.set >= InstructionSet::avx512 ? "512" : "256";
  return host;
}

namespace {

struct MachineDeleter {
  void operator()(LLVMOpaqueTargetMachine* machine) const { LLVMDisposeTargetMachine(machine); }
};
using Machine = std::unique_ptr<LLVMOpaqueTargetMachine, MachineDeleter>;

// LLVM's C interface returns strings that the caller must free.
std::string taken(char* message) {
  std::string text = message == nullptr ? "" : message;
  if (message != nullptr) LLVMDisposeMessage(message);
  return text;
}

Result<Machine> make_machine(const HostTarget& host) {
  LLVMTargetRef target = nullptr;
  char* message = nullptr;
  if (LLVMGetTargetFromTriple(host.triple.c_str(), &target, &message) != 0)
    return unsupported("compiler: clang: {}: {}", host.triple, taken(message));
  Machine machine(LLVMCreateTargetMachine(target, host.triple.c_str(), host.cpu.c_str(),
                                          host.feature_text.c_str(), LLVMCodeGenLevelDefault,
                                          LLVMRelocPIC, LLVMCodeModelSmall));
  if (!machine) return bug("compiler: clang: no code generator for {}", host.triple);
  return machine;
}

// Functions of the prelude are simplified once, before they are inlined into each call.
constexpr const char* lane_passes =
    "function(sroa,early-cse),always-inline,function(sroa,early-cse<memssa>,simplifycfg,"
    "instcombine<no-verify-fixpoint>,loop-mssa(licm))";

// Passes for the scalar text of a host program.
constexpr const char* scalar_passes = "default<O3>";

bool uses_vectors(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& i : llvm::instructions(function))
      if (i.getType()->isVectorTy()) return true;
  return false;
}

Status optimise(llvm::Module& module, LLVMTargetMachineRef machine, TextKind kind) {
  const bool in_lanes = kind == TextKind::kernels || uses_vectors(module);
  const std::string passes =
      std::string(in_lanes ? lane_passes : scalar_passes) + (watches_memory ? ",asan" : "");
  const LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopInterleaving(options, 0);
  LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
  LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
  LLVMPassBuilderOptionsSetLoopUnrolling(options, 0);
  const LLVMErrorRef error = LLVMRunPasses(llvm::wrap(&module), passes.c_str(), machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (error == nullptr) return {};
  char* message = LLVMGetErrorMessage(error);
  Failure failure = bug("compiler: clang: passes: {}", message);
  LLVMDisposeErrorMessage(message);
  return failure;
}

Result<ObjectCode> generate(llvm::Module& module, LLVMTargetMachineRef machine) {
  char* message = nullptr;
  LLVMMemoryBufferRef buffer = nullptr;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, llvm::wrap(&module), LLVMObjectFile, &message,
                                          &buffer) != 0)
    return bug("compiler: clang: code generation: {}", taken(message));
  const std::unique_ptr<llvm::MemoryBuffer> object(llvm::unwrap(buffer));
  const auto* begin = reinterpret_cast<const std::byte*>(object->getBufferStart());
  return ObjectCode{.form = ObjectCode::Form::relocatable,
                    .bytes = {begin, begin + object->getBufferSize()}};
}

// The code generator's search for better induction variables takes a quarter of its time and makes
// such kernels no faster, since x86 adds and scales in its addressing modes (bench_kernels, Cascade
// Lake, 2026-11). AddressSanitizer doesn't watch variables of the text: nothing would run the
// constructors that register them. These switches are global to the process.
void set_switches() {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto set = [&](const char* name, const char* value) {
    const auto at = options.find(name);
    if (at != options.end() && at->second->getNumOccurrences() == 0)
      at->second->addOccurrence(0, name, value);
  };
  set("disable-lsr", "true");
  if (watches_memory) set("asan-globals", "false");
}

class ClangCompiler final : public Compiler {
 public:
  explicit ClangCompiler(HostTarget host)
      : host_(std::move(host)),
        identity_(fmt::format("clang {} [{}; {}]{}, {}, {}, {}, {} bits", LLVM_VERSION_STRING,
                              lane_passes, scalar_passes, watches_memory ? " watched" : "",
                              host_.triple, host_.cpu, host_.feature_text, host_.vector_bits)) {}

  Result<ObjectCode> object(const std::string& c_text, const std::string& unit_name,
                            TextKind kind) override {
    llvm::LLVMContext context;
    CLEAVE_TRY(std::unique_ptr<llvm::Module> module, parse_c(c_text, unit_name, host_, context));
    CLEAVE_TRY(Machine machine, make_machine(host_));
    CLEAVE_CHECK(optimise(*module, machine.get(), kind));
    return generate(*module, machine.get());
  }
  std::string_view name() const override { return "clang"; }
  const std::string& identity() const override { return identity_; }

 private:
  const HostTarget host_;
  const std::string identity_;
};

Result<std::shared_ptr<Compiler>> make(const Target& target, std::string_view text) {
  static std::once_flag registered;
  std::call_once(registered, [] {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    set_switches();
  });
  return std::shared_ptr<Compiler>(std::make_shared<ClangCompiler>(HostTarget::of(target, text)));
}

}  // namespace
}  // namespace cleave::runtime

extern "C" __attribute__((visibility("default")))
const cleave::runtime::ClangPlugin cleave_clang_plugin = {cleave::runtime::clang_plugin_build,
                                                          cleave::runtime::make};
