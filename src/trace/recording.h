// A graph while it is recorded.
//
//   free       values made only of numbers and Variables, before a program uses them
//   program    a program that is being traced: train_step, compile
//   borrowed   another owner's graph, written through its Builder (a gradient rule)
//   subgraph   a branch or a loop's function, inside another recording, its parent: while it is
//              open, operations on the parent's tensors are recorded here
//
// An operation is recorded where its operands are. Operands of a free recording are copied, with
// the nodes they depend on, into the recording of the other operands; each value once. Two programs
// never mix, and a closed program accepts no more operations.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cleave/report.h"
#include "ir/builder.h"
#include "trace/variable_state.h"

namespace cleave::trace {

enum class Mode : uint8_t { training, evaluation };

class Recording : public std::enable_shared_from_this<Recording> {
 public:
  // `what` names the program in errors. With `names_foreign`, undeclared Variables may be used
  // under their own names (otherwise that is an error).
  static RecordingPtr program(const OpRegistry& ops, Mode mode, const std::string& what,
                              bool names_foreign);
  static RecordingPtr free();
  static RecordingPtr borrowed(Builder& builder);

  // Throws if the parent (a rule of an operator) can have none. Open until close() or abandon().
  static RecordingPtr subgraph(const RecordingPtr& parent, const std::string& name,
                               const std::string& what, Location at);

  bool is_free() const { return kind_ == Kind::free; }
  bool is_subgraph() const { return kind_ == Kind::subgraph; }
  // This recording, or the open subgraph in it that operations are currently added to.
  RecordingPtr innermost();
  bool open() const { return open_; }
  Mode mode() const { return mode_; }
  const std::string& what() const { return what_; }
  // Whether the recorded graph will be rewritten for mixed precision.
  bool is_autocast() const { return parent_ ? parent_->is_autocast() : is_autocast_; }
  void set_autocast() { is_autocast_ = true; }
  Graph& graph() { return builder_ ? builder_->graph() : own_graph_; }
  const OpRegistry& ops() const { return builder_ ? builder_->ops() : *ops_; }
  // Returns the final graph: later operations on its tensors are errors.
  Graph close();
  void abandon();

  // ---- placeholders
  ValueId add_input(const std::string& name, Type type, Role role = Role::input, Location at = {});
  // Lets assign() update this input.
  void allow_update(ValueId input) { updatable_.insert(input); }
  // The placeholder of a Variable, named `name`. Call once for each Variable.
  ValueId declare(const Variable& v, const std::string& name);
  // The placeholder of a Variable, declared or not.
  ValueId leaf(const Variable& v, Location at);
  // The placeholder (seed, step) of the program's random numbers, declared at the first call.
  void set_rng(Variable rng) { rng_ = std::move(rng); }
  ValueId rng();
  int64_t next_stream() { return parent_ ? parent_->next_stream() : next_stream_++; }

  // ---- subgraphs
  // Values of the parent that this subgraph reads, in the order of its placeholders.
  const std::vector<ValueId>& captured() const { return captured_; }
  // The placeholder for a value of the parent; created at the first call.
  ValueId capture(ValueId outer);
  // Sets the iteration's number, from which each iteration's own random numbers are derived.
  void set_counter(ValueId counter) { counter_ = counter; }
  // Returns the first of `stem`, `stem_1`, ... that no subgraph of the program has.
  std::string subgraph_name(const std::string& stem);

  struct Bound {
    ValueId placeholder;
    Variable variable;
  };
  // In the order of the placeholders.
  const std::vector<Bound>& bound() const { return bound_; }

  struct Update {
    ValueId target, next;
    Variable variable;  // undefined: the target is an input
  };
  // Sets the value of a Variable, or of an input that allows it, at the end of the step; a second
  // call replaces the first.
  void update(const Variable& v, ValueId next);
  void update(ValueId target, ValueId next);
  bool may_update(ValueId input) const { return updatable_.contains(input); }
  const std::vector<Update>& updates() const { return updates_; }
  // Values of free recordings that are used after this are copied again.
  void forget_copies() { copies_.clear(); }

  // ---- messages
  // Paths of a model's modules, as ModulePaths gives them, after `prefix`; a module that has a path
  // already keeps it.
  void add_modules(const std::map<const void*, std::string>& paths, const std::string& prefix) {
    for (const auto& [module, path] : paths) modules_.emplace(module, prefix + path);
  }
  // Empty for the model itself, and for a module that it doesn't hold.
  std::string module_path(const void* module) const;
  // Once of each subject.
  void warn(const std::string& code, const void* subject, const std::string& text);
  const std::vector<Warning>& warnings() const { return warnings_; }

  // ---- checkpointed regions
  // The number of the outermost open region, from 1 on; each begin needs an end.
  int64_t begin_region();
  void end_region() { --region_depth_; }
  // A number that no other region has.
  int64_t next_region() { return ++region_; }

  // ---- operations
  // The value of a tensor in this graph: its own, a Variable's placeholder, or a copy.
  ValueId value_of(const Tensor& t, Location at);
  Values call(const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs,
              Location at);
  SourceLoc loc(Location at);

 private:
  enum class Kind : uint8_t { free, program, borrowed, subgraph };
  Recording() = default;
  ValueId copied(const Tensor& t, Location at);
  bool is_inside(const Recording& outer) const;

  Kind kind_ = Kind::free;
  Mode mode_ = Mode::training;
  bool open_ = true;
  bool names_foreign_ = true;
  bool is_autocast_ = false;
  std::string what_;
  Graph own_graph_;
  OpRegistry
      program_ops_;  // kept, since a Tensor may outlive the Operators that it was traced with
  const OpRegistry* ops_ = nullptr;
  Builder* builder_ = nullptr;
  RecordingPtr parent_;
  Recording* inner_ = nullptr;  // the open subgraph
  std::vector<ValueId> captured_;
  std::map<ValueId, ValueId> captures_;  // by value of the parent
  ValueId counter_, folded_;
  std::map<std::string, int> subgraph_names_;
  Variable rng_;
  int64_t next_stream_ = 0;
  int64_t region_ = 0, region_depth_ = 0;
  std::vector<Bound> bound_;
  std::vector<Update> updates_;
  std::set<ValueId> updatable_;
  std::map<const VariableState*, ValueId> placeholders_;
  std::map<const void*, std::string> modules_;
  std::vector<Warning> warnings_;
  std::set<std::pair<std::string, const void*>> warned_;
  // Values that were copied in from free recordings.
  using Copies = std::map<uint32_t, ValueId>;
  std::map<std::weak_ptr<Recording>, Copies, std::owner_less<>> copies_;
};

// Abandons the recording where a function ends, even by an exception, so that Tensors of it that
// outlive the function can't add to it.
struct AbandonAtEnd {
  Recording& recording;
  ~AbandonAtEnd() { recording.abandon(); }
};

// Whether a graph's value may have the name (user).
Status check_name(const std::string& name);

// "path/model.cpp:12".
std::string text_of(Location at);
// Throws the failure with a line: "path/model.cpp:12: " before its message; without a prefix if
// `at` is Location{}, when the caller knows no line.
[[noreturn]] void throw_at(Location at, Failure failure);
template <class T>
T value_or_throw_at(Location at, Result<T> r) {
  if (!r.ok()) throw_at(at, std::move(r).failure());
  if constexpr (!std::is_void_v<T>) return *std::move(r);
}
template <class... Args>
[[noreturn]] void refuse(Location at, fmt::format_string<Args...> text, Args&&... args) {
  throw_at(at, user_error(text, std::forward<Args>(args)...));
}

}  // namespace cleave::trace
