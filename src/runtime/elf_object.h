// Loads an ELF object file of this architecture, as clang writes it for position-independent code,
// into this process: a linker for one file (elf_machine.h).
//
//   memory    code | constants | data      one range, each part on pages of its own
//   pages     r-x    r--         rw-       all are rw- until the addresses are in, none is ever
//                                          writable and executable
//
// The code can reach only itself and the functions of external_symbols.h, which it calls through
// jumps at the end of the code, since they may be farther away than a call reaches.
//
// The file isn't trusted: every offset, size, index and address is checked before it is used. What
// the code then does when it runs is the business of whoever keeps it.
#pragma once
#include <span>

#include "runtime/external_symbols.h"
#include "runtime/object_code.h"

namespace cleave::runtime {

// Errors (bug): not such a file; a relocation, section or symbol of a kind that C text without
// thread-local variables and constructors doesn't need; an unknown symbol.
Result<std::shared_ptr<LoadedCode>> load_elf_object(std::span<const std::byte> object,
                                                    std::span<const ExternalSymbol> outside);

}  // namespace cleave::runtime
