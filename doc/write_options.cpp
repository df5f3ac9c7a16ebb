// write_options > doc/options.md: the options, from their table alone.
#include <cstdio>

#include "compile/option_table.h"
#include "compile/option_word.h"

namespace cleave {
namespace {

constexpr const char* head =
    R"(# Options

Written by `script/options --write` from `src/compile/option_table.cpp`;
`include/cleave/options.h` says more of each. Options are fields of plain values, and have a text:

```cpp
compile(model, f, inputs, {.memory_budget = MemoryBudget::percent(60), .strict = true});
compile(model, f, inputs, CompileOptions::parse("memory_budget=60% strict=true"));
options.with({{"strict", "false"}}).text();  // "memory_budget=60%"
```

A text is NAME=VALUE between spaces, in any order; what isn't named has its default. `text()` gives
those that differ from their defaults in the order of this page: equal options have equal texts.

- Numbers are exact; `inf` is one. A size takes B, KiB, MiB, GiB, KB, MB or GB.
- A list is its items between commas.
- A value or item stands in quotes, "..." or '...', if it has a space or a quote in it, an item
  also if it has a comma. In quotes `\` stands before a quote or a `\`, and `\n` is a new line. `""`
  is an empty text or list.
- The target may be followed by the rates that differ from the common ones:
  `target=x86-64-v3,memory_gigabytes:25,call_ns:300`.
- `text()` has no single quotes around values: in a shell, '...' around a text makes it one word.
)";

std::string cell(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("`{}`", text);
}

void write(OptionOwner owner, const char* title) {
  const TrainOptions defaults;
  fmt::print(
      "\n## {}\n\n| option | value | default | such as | what it is |\n|---|---|---|---|---|\n",
      title);
  for (const OptionRow& row : option_table()) {
    if (row.owner != owner) continue;
    const std::string text = row.has_text() ? row.get(defaults) : "";
    const std::string example = row.has_text() ? fmt::format("{}={}", row.name, row.example)
                                               : fmt::format(".{} = {}", row.name, row.example);
    fmt::print("| {} | {} | {} | `{}` | {} |\n", row.name, row.kind,
               cell(row.has_text() && !row.is_list ? word_of(text) : text), example, row.meaning);
  }
}

}  // namespace
}  // namespace cleave

int main() {
  using cleave::OptionOwner;
  std::fputs(cleave::head, stdout);
  cleave::write(OptionOwner::compile, "CompileOptions: how a program is compiled and run");
  cleave::write(OptionOwner::train, "TrainOptions: how a step trains, beside those above");
  return 0;
}
