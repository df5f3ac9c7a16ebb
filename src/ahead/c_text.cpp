#include "ahead/c_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace cleave::ahead {
namespace {

// standalone/interface.h and standalone/embedded.h as strings.
constexpr const char interface_text[] =
#include "c_interface.inc"
    ;
constexpr const char embedded_text[] =
#include "c_embedded.inc"
    ;

struct Function {
  std::string_view name, result, parameters, arguments;
  std::string_view about;
};

constexpr std::array<Function, 11> functions = {{
    {"open", "cleave_instance *", "const cleave_options *options, cleave_error *error",
     "options, error",
     "An instance; NULL, and the error, if there is none. options may be NULL, and so may error, "
     "here\n"
     " * and everywhere."},
    {"input", "int",
     "cleave_instance *instance, size_t index, cleave_tensor *type, cleave_error *error",
     "instance, index, type, error",
     "The type of an input, without data; shape and strides live as long as the instance. What is\n"
     " * another number at other sizes is -1."},
    {"output", "int",
     "cleave_instance *instance, size_t index, cleave_tensor *type, cleave_error *error",
     "instance, index, type, error",
     "The type of a result, as above; after a run that of its sizes."},
    {"bind", "int",
     "cleave_instance *instance, const char *name, const cleave_tensor *tensor,\n    "
     "cleave_error *error",
     "instance, name, tensor, error",
     "The memory of an input, for runs without `in`, or of state, for all runs: it is the "
     "caller's\n"
     " * until something else is bound. Strides are those that the program has. State that runs\n"
     " * write lies apart from other state: the next run checks that."},
    {"run", "int",
     "cleave_instance *instance, const cleave_tensor *in, size_t in_count,\n    "
     "const cleave_tensor *out, size_t out_count, cleave_error *error",
     "instance, in, in_count, out, out_count, error",
     "Runs once: inputs in order, or NULL and 0 for those that are bound, whose shapes say which\n"
     " * of the sizes in step.json is run; results are copied to `out`, which has all of them, or "
     "is\n"
     " * NULL. With `accumulate`, results that the last micro step alone computes are 0 in "
     "others.\n"
     " * Allocates nothing."},
    {"result", "int",
     "cleave_instance *instance, size_t index, cleave_tensor *result, cleave_error *error",
     "instance, index, result, error",
     "A result of the last run where it lies, until the next one."},
    {"get_state", "int",
     "cleave_instance *instance, const char *name, const cleave_tensor *to,\n    "
     "cleave_error *error",
     "instance, name, to, error", "Copies state, or a constant, to the caller's memory."},
    {"set_state", "int",
     "cleave_instance *instance, const char *name, const cleave_tensor *from,\n    "
     "cleave_error *error",
     "instance, name, from, error", "Copies the caller's values to state of the instance."},
    {"set_constants", "int",
     "cleave_instance *instance, const char *const *names, const cleave_tensor *from,\n    "
     "size_t count, cleave_error *error",
     "instance, names, from, count, error",
     "Sets some constants at once, or none if one is refused; what depends on constants alone is\n"
     " * computed here. May be called while the instance runs: the next run uses them."},
    {"describe", "const char *", "void", "", "step.json of this program."},
    {"close", "void", "cleave_instance *instance", "instance", "NULL is no error."},
}};

std::string spaced(std::string_view result) {
  return result.ends_with('*') ? std::string(result) : std::string(result) + " ";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string c_name_of(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  std::string out = file.substr(0, file.find('.'));
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out.insert(0, "p_");
  return out;
}

Status check_c_name(const std::string& name) {
  static const std::set<std::string_view> words = {
      "auto",   "break",   "case",   "char",     "const",  "continue", "default", "do",
      "double", "else",    "enum",   "extern",   "float",  "for",      "goto",    "if",
      "int",    "long",    "return", "short",    "signed", "sizeof",   "static",  "struct",
      "switch", "typedef", "union",  "unsigned", "void",   "volatile", "while"};
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
      !std::ranges::all_of(name, fits) || words.contains(name) || name.starts_with("cleave"))
    return user_error(
        "build: the name `{}`: expected an identifier of C that doesn't begin with `cleave`", name);
  return {};
}

std::vector<std::string> exported_symbols(const std::string& name) {
  std::vector<std::string> out;
  for (const Function& f : functions) out.push_back(fmt::format("{}_{}", name, f.name));
  return out;
}

std::string header_text(const standalone::ProgramFile& file) {
  const std::string& name = file.name;
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string out =
      fmt::format("/* {0}.h: the functions of {0}.so, made by `cleave build`. */\n", name);
  out += interface_text;
  out += fmt::format(
      "\n#ifndef CLEAVE_PROGRAM_{0}\n#define CLEAVE_PROGRAM_{0}\n#ifdef __cplusplus\nextern \"C\" "
      "{{\n#endif\n\n/* Of cleave_options: the library refuses those of another program. */\n"
      "#define {0}_PROGRAM UINT64_C(0x{1:016x})\n#define {0}_OPTIONS_INIT "
      "CLEAVE_OPTIONS_INIT({0}_PROGRAM)\n",
      upper, file.id);
  const auto list = [&](const char* what, const auto& entries) {
    out += fmt::format("\n/* {} */\nenum {{ {}_{} = {} }};\n", what, upper, what, entries.size());
  };
  list("INPUTS", file.inputs);
  list("OUTPUTS", file.outputs);
  for (const Function& f : functions)
    out += fmt::format("\n/* {} */\n{}{}_{}({});\n", f.about, spaced(f.result), name, f.name,
                       f.parameters);
  out += "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return out;
}

std::string unit_text(const std::string& name, const std::vector<std::string>& phases,
                      const std::vector<std::string>& operators, const std::string& description) {
  std::string embedded = embedded_text;  // its include is the interface's text
  constexpr std::string_view include = "#include \"standalone/interface.h\"\n";
  embedded.replace(embedded.find(include), include.size(), "");
  std::string out = std::string(interface_text) + embedded;
  const std::set<std::string> kernels(phases.begin(), phases.end());
  for (const std::string& symbol : kernels)
    out += fmt::format("int64_t {}(void *const *, const int64_t *, int64_t, int64_t, int64_t *);\n",
                       symbol);
  for (const std::string& symbol : operators)
    out += fmt::format("void {}(void *const *, void *const *);\n", symbol);
  const auto table = [&](const char* type, const char* of,
                         const std::vector<std::string>& symbols) {
    out += fmt::format("static const {} {}[] = {{{}{}0}};\n", type, of, fmt::join(symbols, ", "),
                       symbols.empty() ? "" : ", ");
  };
  table("cleave_phase", "phases", phases);
  table("cleave_operator", "operators", operators);
  for (const char* data : {"program", "weights"})
    out += fmt::format(
        "__asm__(\".pushsection .rodata.cleave_{0},\\\"a\\\"\\n\"\n"
        "        \".balign 64\\n.globl cleave_{0}\\n.hidden cleave_{0}\\ncleave_{0}:\\n\"\n"
        "        \".incbin \\\"{0}.bin\\\"\\n.globl cleave_{0}_end\\n.hidden cleave_{0}_end\\n\"\n"
        "        \"cleave_{0}_end: .byte 0\\n.popsection\\n\");\n"
        "extern const unsigned char cleave_{0}[], cleave_{0}_end[];\n",
        data);
  // Memory that the C++ library in it keeps for exceptions, and frees when nobody else does.
  out +=
      "extern void _ZN9__gnu_cxx9__freeresEv(void) __attribute__((weak, visibility(\"hidden\")));\n"
      "__attribute__((destructor(101))) static void free_kept(void) {\n"
      "  if (_ZN9__gnu_cxx9__freeresEv) _ZN9__gnu_cxx9__freeresEv();\n}\n";
  out += "static const char description[] =\n";
  for (size_t at = 0; at < description.size(); at += 80)
    out += fmt::format("    \"{}\"\n", escaped(description.substr(at, 80)));
  out += "    ;\n";
  out += fmt::format(
      "#define EMBEDDED const cleave_embedded embedded = {{\"{}\", cleave_program, \\\n"
      "    (size_t)(cleave_program_end - cleave_program), cleave_weights, \\\n"
      "    (size_t)(cleave_weights_end - cleave_weights), description, phases, {}, operators, "
      "{}}}\n"
      "#define EXPORT __attribute__((visibility(\"default\")))\n",
      name, phases.size(), operators.size());
  for (const Function& f : functions) {
    out += fmt::format("EXPORT {}{}_{}({}) {{\n", spaced(f.result), name, f.name, f.parameters);
    if (f.name == "describe")
      out += "  return description;\n}\n";
    else if (f.name == "close")
      out += "  cleave_standalone_close(instance);\n}\n";
    else
      out += fmt::format("  EMBEDDED;\n  return cleave_standalone_{}(&embedded, {});\n}}\n", f.name,
                         f.arguments);
  }
  return out;
}

}  // namespace cleave::ahead
