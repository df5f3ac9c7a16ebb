// See front_end.h. clang sees an empty file system, so that no header, configuration file or folder
// of this machine can change the output.
#include "clang/front_end.h"

#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <vector>

#include "base/poison.h"

namespace cleave::runtime {
namespace {

// The arguments of `clang -cc1`. Calls of the C library aren't constant-folded: log10f of 2.6 would
// give another number. The defaults already have no errno from math, no traps and no fast math; -O3
// with the passes left out keeps the annotations that the passes need.
std::vector<std::string> arguments(const HostTarget& host) {
  std::vector<std::string> args = {"-triple",
                                   host.triple,
                                   "-target-cpu",
                                   host.cpu,
                                   "-emit-llvm",
                                   "-x",
                                   "c",
                                   "-std=gnu11",
                                   "-O3",
                                   "-disable-llvm-passes",
                                   "-w",
                                   "-nostdsysteminc",
                                   "-nobuiltininc",
                                   "-fwrapv",
                                   "-relaxed-aliasing",
                                   "-fno-builtin",
                                   "-ffp-contract=off",
                                   "-mrelocation-model",
                                   "pic",
                                   "-pic-level",
                                   "2",
                                   "-mprefer-vector-width=" + host.vector_bits};
  for (const std::string& feature : host.features) {
    args.push_back("-target-feature");
    args.push_back(feature);
  }
  if (watches_memory)
    args.push_back(
        "-fsanitize=address,bool,enum,float-cast-overflow,integer-divide-by-zero,"
        "pointer-overflow,shift-base,shift-exponent,unreachable,vla-bound");
  args.push_back("unit.c");
  return args;
}

}  // namespace

Result<std::unique_ptr<llvm::Module>> parse_c(const std::string& text, const std::string& unit_name,
                                              const HostTarget& host, llvm::LLVMContext& context) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions);
  options->ShowPresumedLoc = true;  // what #line says
  clang::CompilerInstance instance;
  instance.createDiagnostics(new clang::TextDiagnosticPrinter(stream, options.get()));
  instance.setVerboseOutputStream(stream);

  const std::vector<std::string> words = arguments(host);
  std::vector<const char*> args;
  for (const std::string& word : words) args.push_back(word.c_str());
  if (!clang::CompilerInvocation::CreateFromArgs(instance.getInvocation(), args,
                                                 instance.getDiagnostics()))
    return bug("compiler: clang: {}: options: {}", unit_name, stream.str());
  const std::string file = unit_name + ".c";
  const auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFileNoOwn(file, 0, llvm::MemoryBufferRef(text, file));  // sanitizers need a file
  instance.getFrontendOpts().Inputs = {
      clang::FrontendInputFile(file, clang::InputKind(clang::Language::C))};
  instance.createFileManager(files);

  clang::EmitLLVMOnlyAction action(&context);
  const bool parsed = instance.ExecuteAction(action);
  std::unique_ptr<llvm::Module> module = parsed ? action.takeModule() : nullptr;
  if (!module) return bug("compiler: clang: {} doesn't compile:\n{}", unit_name, stream.str());
  return module;
}

}  // namespace cleave::runtime
