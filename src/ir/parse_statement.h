// Reads one statement of a graph's body and adds its node.
//
//   statement = [%name {"," %name} "="] op "(" [operands] [";"] [attributes] ")"
//               ["!recompute(" policy ["," "ac=" integer] ")"] [":" type {"," type}]
//               ["#" file:line]
//   operands  = operand {"," operand};  operand = %name | none | "[" [item {"," item}] "]"
//   attributes = name "=" value {"," name "=" value}, after ";" if operands precede them
//
// Complex tensors are read as their parts, and calls of them as calls of those.
//
// A number given where the signature allows one for a tensor is an attribute of that name; the
// other operands keep their order. The types are compared with those that the operator infers;
// `none` marks an unused result. A call of a composite (ir/composites.h) becomes several nodes.
#pragma once
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/composites.h"
#include "ir/parse_literal.h"

namespace cleave {

class StatementParser {
 public:
  // composites: null if there are none.
  StatementParser(Lexer& lex, LiteralParser& literals, const OpRegistry& ops,
                  const Composites* composites)
      : lex_(lex), literals_(literals), ops_(ops), composites_(composites) {}

  void begin_graph(Graph& graph);
  // Reads from the first result to the end of the line.
  Status read();
  // A %name that is defined and not declared unused, as an operand or in a return.
  Result<ValueId> read_value_name();
  // Of a placeholder or a result, as the graph has it: see note_complex.
  Result<Type> read_type(bool& is_complex);
  // The value is the parts of what the text has as a complex tensor.
  void note_complex(ValueId v) { complex_.insert(v.v); }

 private:
  struct Operand {
    uint32_t at = 0;
    bool is_list = false;
    std::vector<ValueId> items;  // one item unless it is a list
  };
  struct GivenAttr {
    uint32_t at = 0;
    uint16_t arg = 0;
  };

  Status read_results();
  Status read_op();
  Status read_arguments();
  Status read_operand();
  Result<ValueId> read_item();
  Status read_attr();
  Status place_operands(uint32_t close_at);
  Status place(const Operand& operand, const ArgDef& arg);
  Status read_tag();
  Status read_memory_budget();
  Status read_types();
  Status read_source();
  Status add();
  Status add_composite();
  Status check_composite();
  bool is_complex(ValueId v) const { return v.valid() && complex_.contains(v.v); }
  bool touches_complex() const;
  Result<ComplexCall> complex_call() const;
  Result<Values> expand(Builder& b) const;
  Failure explain(Failure failure);
  Status check_types(const Values& results);
  Failure unknown_op(const Token& name) const;
  Failure unknown_attr(const Token& name) const;

  Lexer& lex_;
  LiteralParser& literals_;
  const OpRegistry& ops_;
  const Composites* const composites_;
  Graph* graph_ = nullptr;
  std::unordered_set<uint32_t> unused_;   // values declared none
  std::unordered_set<uint32_t> complex_;  // values that are parts
  uint32_t last_file_ = 0;

  // The statement being read; kept to reuse the memory.
  NodeSpec spec_;
  bool is_composite_ = false;
  uint32_t op_at_ = 0;
  std::vector<uint32_t> result_at_;
  std::vector<Operand> operands_;
  size_t operand_count_ = 0;
  std::vector<GivenAttr> given_;
  std::vector<Type> types_;
  std::vector<bool> type_is_complex_;
  std::vector<uint32_t> type_at_;
  bool has_types_ = false;
};

// Names used by exported PyTorch graphs. One of these operators without an entry is reported as
// unsupported; any other unknown name as a mistake.
bool is_core_aten(std::string_view name);

}  // namespace cleave
