#include "ahead/compile_units.h"

#include <elf.h>

#include <cstring>

namespace cleave::ahead {

Result<std::vector<ObjectFile>> compile_units(const std::vector<SourceUnit>& units,
                                              runtime::Compiler& compiler, Executor& executor) {
  struct Context {
    const std::vector<SourceUnit>& units;
    runtime::Compiler& compiler;
    std::vector<Result<ObjectFile>> out;
  } context{units, compiler, {}};
  context.out.assign(units.size(), ObjectFile());
  const auto compile_one = [](void* c, long i) {
    auto& [all, used, out] = *static_cast<Context*>(c);
    const auto k = static_cast<size_t>(i);
    const bool is_own = all[k].from == SourceUnit::From::kernels;
    out[k] = used.relocatable(all[k].text, fmt::format("unit{}", i),
                              is_own ? runtime::TextKind::kernels : runtime::TextKind::any);
  };
  executor.parallel_for(static_cast<long>(units.size()), compile_one, &context);
  std::vector<ObjectFile> objects;
  for (size_t k = 0; k < units.size(); ++k) {
    if (!context.out[k].ok()) {
      Failure failure = std::move(context.out[k]).failure();
      if (units[k].from == SourceUnit::From::host_program) failure.kind = ErrorKind::user;
      return failure;
    }
    objects.push_back(*std::move(context.out[k]));
  }
  return objects;
}

int64_t code_bytes(const ObjectFile& object) {
  Elf64_Ehdr head{};
  if (object.size() < sizeof(head)) return 0;
  std::memcpy(&head, object.data(), sizeof(head));
  int64_t sum = 0;
  for (size_t k = 0; k < head.e_shnum; ++k) {
    Elf64_Shdr section{};
    const size_t at = head.e_shoff + k * sizeof(section);
    if (at > object.size() || object.size() - at < sizeof(section)) return 0;
    std::memcpy(&section, object.data() + at, sizeof(section));
    if ((section.sh_flags & SHF_ALLOC) != 0) sum += static_cast<int64_t>(section.sh_size);
  }
  return sum;
}

}  // namespace cleave::ahead
