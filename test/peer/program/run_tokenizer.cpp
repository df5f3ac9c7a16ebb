// Runs tokenizers for tokenizers.py. Lines of stdin:
//
//   load PATH         ok, or the error
//   text HEX          the ids, those without special tokens, and the texts of the ids without and
// with
//                     special tokens in hexadecimal: "1 5 2|5|6869|5b5d", or the error
//   ids 1 5 2         the two texts of these ids
//   tokens FIRST END  what each of these ids stands for, in hexadecimal ("-": no token)
//   time PATH         encodes the lines of a file: tokens and seconds
//
// An error is a line "! message".
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cleave/tokenizer.h"

namespace cleave {
namespace {

std::string from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out(text.size() / 2, '\0');
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = static_cast<char>(digit(text[2 * k]) * 16 + digit(text[2 * k + 1]));
  return out;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char b : bytes) {
    out += digits[static_cast<uint8_t>(b) / 16];
    out += digits[static_cast<uint8_t>(b) % 16];
  }
  return out;
}

std::string both_texts(const Tokenizer& t, const std::vector<int64_t>& ids) {
  return to_hex(t.decode(ids)) + "|" + to_hex(t.decode(ids, {.skip_special_tokens = false}));
}

std::string of_text(const Tokenizer& t, std::string_view text) {
  const std::vector<int64_t> ids = t.encode(text);
  return fmt::format("{}|{}|{}", fmt::join(ids, " "),
                     fmt::join(t.encode(text, {.add_special_tokens = false}), " "),
                     both_texts(t, ids));
}

std::string of_ids(const Tokenizer& t, const std::string& rest) {
  std::istringstream in(rest);
  std::vector<int64_t> ids;
  for (int64_t id; in >> id;) ids.push_back(id);
  return both_texts(t, ids);
}

std::string of_range(const Tokenizer& t, const std::string& rest) {
  std::istringstream in(rest);
  int64_t first = 0, end = 0;
  in >> first >> end;
  std::string out;
  for (int64_t id = first; id < end; ++id) {
    try {
      out += to_hex(t.token(id)) + " ";
    } catch (const Error&) { out += "- "; }
  }
  return out;
}

std::string time_file(const Tokenizer& t, const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const auto begin = std::chrono::steady_clock::now();
  size_t tokens = 0;
  for (const std::string& line : lines) tokens += t.encode(line).size();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return fmt::format("{} {}", tokens, seconds.count());
}

std::string answer(std::optional<Tokenizer>& t, const std::string& command,
                   const std::string& rest) {
  if (command == "load") {
    t.reset();
    t = Tokenizer::load(rest);
    return "ok";
  }
  if (!t) return "! nothing is loaded";
  if (command == "text") return of_text(*t, from_hex(rest));
  if (command == "ids") return of_ids(*t, rest);
  if (command == "tokens") return of_range(*t, rest);
  if (command == "time") return time_file(*t, rest);
  return "! no command";
}

}  // namespace
}  // namespace cleave

int main() {
  std::optional<cleave::Tokenizer> tokenizer;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t space = line.find(' ');
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    try {
      std::cout << cleave::answer(tokenizer, line.substr(0, space), rest) << std::endl;
    } catch (const cleave::Error& e) {
      std::cout << "! " << (e.kind() == cleave::ErrorKind::unsupported ? "unsupported: " : "")
                << e.what() << std::endl;
    }
  }
}
