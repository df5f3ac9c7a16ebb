// Any bytes are a tokenizer.json or an error. A tokenizer that is accepted encodes and decodes, or
// says why it can't: in bounded time and memory, whatever its expressions and steps are.
//   make fuzz-build
//   build/fuzz/bin/fuzz_tokenizer -max_len=4096 -max_total_time=120 -timeout=60 CORPUS \
//     test/fuzz/tokenizer -dict=test/fuzz/tokenizer.dict
#include "text/tokenizer_state.h"

namespace {

template <class T>
void check(const cleave::Result<T>& r) {
  if (!r.ok() && (r.failure().kind == cleave::ErrorKind::bug || r.failure().message.empty()))
    __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto t = cleave::TokenizerState::read(bytes);
  check(t);
  if (!t.ok()) return 0;
  for (const std::string_view text :
       {"", "The day  it's 42, don't\n\n",
        "e\u0301\u4e2d\U0001f468\u200d\U0001f469 <s>\t[A]aaaaaaaaaaaaaa"}) {
    const auto ids = t->encode(text, {});
    check(ids);
    if (!ids.ok()) continue;
    const auto back = t->decode(*ids, {.skip_special_tokens = false});
    check(back);
    if (back.ok() && !cleave::text::is_valid(*back)) __builtin_trap();
    for (const int64_t id : *ids)
      if (const auto token = t->token(id); token && !t->id(*token) && t->vocabulary_size() <= id)
        __builtin_trap();
  }
  // Of its own bytes.
  check(t->encode(bytes.substr(0, 200), {.add_special_tokens = false}));
  return 0;
}
