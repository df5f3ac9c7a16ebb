#include "runtime/elf_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "base/poison.h"
#include "runtime/elf_machine.h"

namespace cleave::runtime {
namespace {

// Larger ones are refused, so that no sum here overflows.
constexpr uint64_t largest_file = uint64_t{1} << 30;
constexpr uint64_t largest_alignment = 4096;

enum Part : size_t { code, constants, data, parts };

// Machine code in pages of its own.
class MappedCode final : public LoadedCode {
 public:
  static Result<std::shared_ptr<MappedCode>> make(size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
      return user_error("compiler: no {} B of memory for machine code: {}", bytes, strerror(errno));
    return std::make_shared<MappedCode>(static_cast<std::byte*>(at), bytes);
  }
  MappedCode(std::byte* at, size_t bytes) : at_(at), bytes_(bytes) {}
  ~MappedCode() override { munmap(at_, bytes_); }
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;

  std::byte* at() const { return at_; }
  void add(const std::string& name, void* address) { functions_.emplace(name, address); }
  void* symbol(const std::string& name) const override {
    const auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : found->second;
  }

 private:
  std::byte* const at_;
  const size_t bytes_;
  std::map<std::string, void*> functions_;
};

class Loader {
 public:
  Loader(std::span<const std::byte> file, std::span<const ExternalSymbol> outside)
      : file_(file), outside_(outside) {}

  Result<std::shared_ptr<LoadedCode>> load() {
    CLEAVE_CHECK(read_sections());
    CLEAVE_CHECK(read_symbols());
    CLEAVE_CHECK(place());
    for (size_t i = 0; i < sections_.size(); ++i)
      if (sections_[i].sh_type == SHT_RELA) CLEAVE_CHECK(relocate(sections_[i]));
    CLEAVE_CHECK(protect());
    for (const Elf64_Sym& s : symbols_) {
      if (s.st_shndx == SHN_UNDEF || ELF64_ST_BIND(s.st_info) == STB_LOCAL ||
          ELF64_ST_TYPE(s.st_info) != STT_FUNC)
        continue;
      CLEAVE_TRY(const std::string_view name, name_of(s));
      CLEAVE_TRY(const uint64_t address, address_of(s));
      mapped_->add(std::string(name), reinterpret_cast<void*>(address));
    }
    return std::shared_ptr<LoadedCode>(std::move(mapped_));
  }

 private:
  static Failure wrong(std::string_view what) { return bug("compiler: an object file: {}", what); }

  // A copy, since nothing in the file is sure to be aligned.
  template <class T>
  Result<T> read(uint64_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T))
      return wrong("something lies behind its end");
    T out;
    memcpy(&out, file_.data() + offset, sizeof(T));
    return out;
  }
  template <class T>
  Result<std::vector<T>> read_table(uint64_t offset, uint64_t bytes, uint64_t entry) const {
    if (entry != sizeof(T) || bytes % sizeof(T) != 0) return wrong("a table has odd entries");
    if (offset > file_.size() || file_.size() - offset < bytes)
      return wrong("a table lies behind its end");
    std::vector<T> out(bytes / sizeof(T));
    if (bytes > 0) memcpy(out.data(), file_.data() + offset, bytes);
    return out;
  }

  Status read_sections() {
    if (file_.size() > largest_file) return wrong("it is larger than 1 GiB");
    CLEAVE_TRY(const auto h, read<Elf64_Ehdr>(0));
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_type != ET_REL || h.e_machine != machine_.number)
      return wrong(fmt::format("it is none of {}", machine_.name));
    CLEAVE_TRY(sections_, read_table<Elf64_Shdr>(h.e_shoff, uint64_t{h.e_shnum} * h.e_shentsize,
                                                 h.e_shentsize));
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_NOBITS &&
          (s.sh_offset > file_.size() || file_.size() - s.sh_offset < s.sh_size))
        return wrong("a section lies behind its end");
      if (s.sh_size > largest_file) return wrong("a section is larger than 1 GiB");
      if (s.sh_flags & SHF_TLS) return wrong("it has thread-local variables");
    }
    return refuse_constructors(h.e_shstrndx);
  }

  // Nothing would run them. Those of AddressSanitizer only register variables.
  Status refuse_constructors(size_t names) const {
    CLEAVE_TRY(const std::string_view texts, strings(names));
    for (const Elf64_Shdr& s : sections_) {
      if (!(s.sh_flags & SHF_ALLOC)) continue;
      CLEAVE_TRY(const std::string_view name, text_at(texts, s.sh_name));
      for (const char* list : {".ctors", ".dtors", ".init_array", ".fini_array", ".preinit_array"})
        if (name.starts_with(list) && !watches_memory) return wrong("it has constructors");
    }
    return {};
  }

  // The bytes of a section of strings, and the string at an offset of them.
  Result<std::string_view> strings(size_t section) const {
    if (section >= sections_.size() || sections_[section].sh_type != SHT_STRTAB)
      return wrong("it has no names");
    const Elf64_Shdr& s = sections_[section];
    return std::string_view(reinterpret_cast<const char*>(file_.data()) + s.sh_offset, s.sh_size);
  }
  static Result<std::string_view> text_at(std::string_view texts, uint64_t offset) {
    if (offset >= texts.size()) return wrong("a name lies behind the names");
    const std::string_view rest = texts.substr(offset);
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) return wrong("a name doesn't end");
    return rest.substr(0, end);
  }

  Status read_symbols() {
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      if (!symbols_.empty()) return wrong("it has two lists of symbols");
      CLEAVE_TRY(symbols_, read_table<Elf64_Sym>(s.sh_offset, s.sh_size, s.sh_entsize));
      CLEAVE_TRY(names_, strings(s.sh_link));
    }
    return {};
  }
  Result<std::string_view> name_of(const Elf64_Sym& s) const { return text_at(names_, s.st_name); }

  // Unwinding tables stay behind: no exception passes through generated code.
  static bool is_loaded(const Elf64_Shdr& s) {
    return (s.sh_flags & SHF_ALLOC) && (s.sh_type == SHT_PROGBITS || s.sh_type == SHT_NOBITS);
  }
  static Part part_of(const Elf64_Shdr& s) {
    if (s.sh_flags & SHF_EXECINSTR) return code;
    return s.sh_flags & SHF_WRITE ? data : constants;
  }

  // Finds the place of each section, the addresses of external symbols after the constants, the
  // jumps to them after the code; and copies the sections.
  Status place() {
    std::array<uint64_t, parts> size{};
    place_.assign(sections_.size(), std::nullopt);
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (!is_loaded(s)) continue;
      const uint64_t alignment = std::max<uint64_t>(1, s.sh_addralign);
      if (alignment > largest_alignment || (alignment & (alignment - 1)) != 0)
        return wrong("a section has an odd alignment");
      if ((s.sh_flags & SHF_EXECINSTR) && (s.sh_flags & SHF_WRITE))
        return wrong("a section is writable and executable");
      uint64_t& used = size[part_of(s)];
      used = (used + alignment - 1) / alignment * alignment;
      place_[i] = used;
      used += s.sh_size;
      if (used > largest_file) return wrong("its sections are larger than 1 GiB");
    }
    jumps_ = (size[code] + elf_jump_bytes - 1) / elf_jump_bytes * elf_jump_bytes;
    size[code] = jumps_ + symbols_.size() * elf_jump_bytes;
    addresses_ = (size[constants] + 7) / 8 * 8;
    size[constants] = addresses_ + symbols_.size() * 8;
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    uint64_t all = 0;
    for (size_t p = 0; p < parts; ++p) {
      begin_[p] = all;
      all += (size[p] + page - 1) / page * page;
    }
    end_ = all;
    CLEAVE_TRY(mapped_, MappedCode::make(std::max(all, page)));
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (!place_[i]) continue;
      *place_[i] += begin_[part_of(s)];
      if (s.sh_type == SHT_PROGBITS && s.sh_size > 0)
        memcpy(mapped_->at() + *place_[i], file_.data() + s.sh_offset, s.sh_size);
    }
    return {};
  }

  uint64_t at(uint64_t offset) const { return reinterpret_cast<uint64_t>(mapped_->at()) + offset; }

  Result<uint64_t> external(std::string_view name) const {
    for (const ExternalSymbol& s : outside_)
      if (name == s.name) return reinterpret_cast<uint64_t>(s.address);
    if (watches_memory && (name.starts_with("__asan_") || name.starts_with("__ubsan_")))
      if (void* found = dlsym(RTLD_DEFAULT, std::string(name).c_str()))
        return reinterpret_cast<uint64_t>(found);
    return wrong(fmt::format("it calls {}, which generated code may not", name));
  }
  static bool is_external(const Elf64_Sym& s) { return s.st_shndx == SHN_UNDEF; }

  Result<uint64_t> address_of(const Elf64_Sym& s) const {
    if (is_external(s)) {
      CLEAVE_TRY(const std::string_view name, name_of(s));
      return external(name);
    }
    if (s.st_shndx >= sections_.size() || !place_[s.st_shndx])
      return wrong("a symbol lies in no section that is loaded");
    if (s.st_value > sections_[s.st_shndx].sh_size)
      return wrong("a symbol lies behind its section");
    return at(*place_[s.st_shndx] + s.st_value);
  }

  // Where the address of a symbol is written down; and where a jump to it is.
  Result<uint64_t> pointer_to(size_t symbol, const Elf64_Sym& s) {
    CLEAVE_TRY(const uint64_t address, address_of(s));
    const uint64_t offset = begin_[constants] + addresses_ + symbol * 8;
    memcpy(mapped_->at() + offset, &address, 8);
    return at(offset);
  }
  Result<uint64_t> jump_to(size_t symbol, const Elf64_Sym& s) {
    CLEAVE_TRY(const uint64_t pointer, pointer_to(symbol, s));
    const uint64_t offset = begin_[code] + jumps_ + symbol * elf_jump_bytes;
    if (!machine_.write_jump(mapped_->at() + offset, at(offset), pointer))
      return wrong("a jump is too far away");
    return at(offset);
  }

  Status relocate(const Elf64_Shdr& table) {
    if (table.sh_info >= sections_.size()) return wrong("a relocation table has no section");
    if (!place_[table.sh_info]) return {};  // of what isn't loaded
    const Elf64_Shdr& section = sections_[table.sh_info];
    CLEAVE_TRY(const auto entries,
               read_table<Elf64_Rela>(table.sh_offset, table.sh_size, table.sh_entsize));
    for (const Elf64_Rela& r : entries) CLEAVE_CHECK(relocate(r, section, *place_[table.sh_info]));
    return {};
  }

  Status relocate(const Elf64_Rela& r, const Elf64_Shdr& section, uint64_t place) {
    const size_t symbol = ELF64_R_SYM(r.r_info);
    const uint64_t type = ELF64_R_TYPE(r.r_info);
    const std::optional<ElfWrite> form = machine_.relocation(type);
    if (!form) return wrong(fmt::format("a relocation of kind {}", type));
    if (symbol >= symbols_.size() || symbol == 0) return wrong("a relocation has no symbol");
    if (section.sh_size < form->bytes || r.r_offset > section.sh_size - form->bytes)
      return wrong("a relocation lies behind its section");
    const Elf64_Sym& s = symbols_[symbol];
    Result<uint64_t> target = form->of == ElfWrite::Of::pointer ? pointer_to(symbol, s)
                              : form->of == ElfWrite::Of::call && is_external(s)
                                  ? jump_to(symbol, s)
                                  : address_of(s);
    if (!target.ok()) return std::move(target).failure();
    const uint64_t offset = place + r.r_offset;
    if (!form->write(mapped_->at() + offset, at(offset),
                     *target + static_cast<uint64_t>(r.r_addend)))
      return wrong("a relocation is too far away");
    return {};
  }

  Status protect() {
    auto* const begin = reinterpret_cast<char*>(mapped_->at());
    __builtin___clear_cache(begin, begin + end_);  // of instructions, which may be apart
    const std::array<int, parts> rights{PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (size_t p = 0; p < parts; ++p) {
      const uint64_t end = p + 1 < parts ? begin_[p + 1] : end_;
      if (end > begin_[p] && mprotect(mapped_->at() + begin_[p], end - begin_[p], rights[p]) != 0)
        return user_error("compiler: machine code can't be made executable: {}", strerror(errno));
    }
    return {};
  }

  const ElfMachine& machine_ = elf_machine();
  const std::span<const std::byte> file_;
  const std::span<const ExternalSymbol> outside_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view names_;
  std::vector<std::optional<uint64_t>> place_;  // by section: where it is, if it is loaded
  uint64_t jumps_ = 0, addresses_ = 0;          // offsets in their parts
  std::array<uint64_t, parts> begin_{};
  uint64_t end_ = 0;
  std::shared_ptr<MappedCode> mapped_;
};

}  // namespace

Result<std::shared_ptr<LoadedCode>> load_elf_object(std::span<const std::byte> object,
                                                    std::span<const ExternalSymbol> outside) {
  return Loader(object, outside).load();
}

}  // namespace cleave::runtime
