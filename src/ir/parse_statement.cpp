#include "ir/parse_statement.h"

#include <algorithm>
#include <charconv>

#include "base/edit_distance.h"
#include "ir/text.h"
#include "ir/uncovered_op.h"

namespace cleave {
namespace {

std::string nearest_text(const std::string& nearest) {
  return nearest.empty() ? "" : fmt::format("; the nearest is '{}'", nearest);
}

// "1 result", "2 results"
std::string counted(size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

void StatementParser::begin_graph(Graph& graph) {
  graph_ = &graph;
  unused_.clear();
  complex_.clear();
  last_file_ = 0;
}

Status StatementParser::read() {
  spec_ = {};
  result_at_.clear();
  operand_count_ = 0;
  given_.clear();
  types_.clear();
  type_is_complex_.clear();
  type_at_.clear();
  has_types_ = false;
  if (lex_.at(TokenKind::value)) { CLEAVE_CHECK(read_results()); }
  CLEAVE_CHECK(read_op());
  CLEAVE_CHECK(read_arguments());
  if (lex_.at_mark('!')) { CLEAVE_CHECK(read_tag()); }
  if (lex_.at_mark(':')) { CLEAVE_CHECK(read_types()); }
  CLEAVE_CHECK(read_source());
  return add();
}

Status StatementParser::read_results() {
  do {
    CLEAVE_TRY(Token name, lex_.expect(TokenKind::value, "a result such as %x"));
    spec_.names.emplace_back(name.text);
    result_at_.push_back(name.at);
  } while (lex_.accept_mark(','));
  return lex_.expect_mark('=');
}

Failure StatementParser::unknown_op(const Token& name) const {
  if (const UncoveredOp* op = find_uncovered(name.text))
    return lex_.placed(name.at, ErrorKind::unsupported, rule::op,
                       fmt::format("the operator '{}' is not covered: {}", name.text, op->reason));
  if (is_core_aten(name.text))
    return lex_.placed(name.at, ErrorKind::unsupported, rule::op,
                       fmt::format("the operator '{}' is not covered yet, expected an entry in "
                                   "src/op",
                                   name.text));
  const std::string nearest = ops_.nearest(name.text);
  return lex_.error(name.at, rule::op,
                    "the operator '{}' is not known, expected one of doc/ops.md{}",
                    name.text.substr(0, 60), nearest_text(nearest));
}

Status StatementParser::read_op() {
  CLEAVE_TRY(Token name, lex_.expect(TokenKind::word, "an operator"));
  op_at_ = name.at;
  spec_.op = ops_.find(name.text);
  is_composite_ = !spec_.op && composites_;
  if (is_composite_) spec_.op = composites_->find(name.text, spec_.names.size());
  if (!spec_.op) return unknown_op(name);
  if (int n = spec_.op->schema.results; n >= 0 && spec_.names.size() != static_cast<size_t>(n))
    return lex_.error(spec_.names.empty() ? op_at_ : result_at_[0], rule::results,
                      "{}, expected the {} of {}", counted(spec_.names.size(), "result"), n,
                      spec_.op->name);
  return {};
}

// ---- operands and attributes

Status StatementParser::read_arguments() {
  CLEAVE_CHECK(lex_.expect_mark('('));
  bool attrs = lex_.at(TokenKind::word) && !lex_.at_word("none");
  if (!attrs && !lex_.at_mark(')') && !lex_.at_mark(';')) {
    do { CLEAVE_CHECK(read_operand()); } while (lex_.accept_mark(','));
  }
  // `op(; )`, an empty call as some writers print it, is accepted too
  if (!attrs && lex_.accept_mark(';')) attrs = operand_count_ > 0 || !lex_.at_mark(')');
  if (attrs) {
    do { CLEAVE_CHECK(read_attr()); } while (lex_.accept_mark(','));
  }
  const uint32_t close_at = lex_.peek().at;
  if (!lex_.accept_mark(')')) return lex_.unexpected(attrs ? "',' or ')'" : "',', ';' or ')'");
  return place_operands(close_at);
}

Result<ValueId> StatementParser::read_value_name() {
  CLEAVE_TRY(Token name, lex_.expect(TokenKind::value, "a value such as %x"));
  ValueId v = graph_->find(name.text);
  if (!v.valid())
    return lex_.error(name.at, rule::value,
                      "%{} is not defined, expected a placeholder or an earlier result", name.text);
  if (graph_->type(v).is_none || (!unused_.empty() && unused_.contains(v.v)))
    return lex_.error(name.at, rule::value,
                      "%{} is an unused result of type none, expected a value", name.text);
  return v;
}

Result<ValueId> StatementParser::read_item() {
  if (lex_.accept_word("none")) return ValueId::none();
  if (!lex_.at(TokenKind::value)) return lex_.unexpected("a value such as %x or none");
  return read_value_name();
}

Status StatementParser::read_operand() {
  if (operand_count_ == operands_.size()) operands_.emplace_back();
  Operand& operand = operands_[operand_count_++];
  operand.at = lex_.peek().at;
  operand.items.clear();
  operand.is_list = lex_.accept_mark('[');
  if (operand.is_list && lex_.accept_mark(']')) return {};
  do {
    CLEAVE_TRY(ValueId v, read_item());
    operand.items.push_back(v);
  } while (operand.is_list && lex_.accept_mark(','));
  return operand.is_list ? lex_.expect_mark(']') : Status();
}

Failure StatementParser::unknown_attr(const Token& name) const {
  const Schema& schema = spec_.op->schema;
  std::string known, nearest;
  size_t best = 2 + std::min<size_t>(name.text.size(), 64) / 3;
  for (const ArgDef& arg : schema.args) {
    if (arg.is_operand() && !arg.number_allowed) continue;
    known += (known.empty() ? "" : ", ") + arg.name;
    if (size_t d = edit_distance(name.text.substr(0, 64), arg.name); d < best) {
      best = d;
      nearest = arg.name;
    }
  }
  return lex_.error(name.at, rule::attr, "{} has no attribute '{}', expected {}{}", spec_.op->name,
                    name.text.substr(0, 60), known.empty() ? "none" : "one of: " + known,
                    nearest_text(nearest));
}

Status StatementParser::read_attr() {
  CLEAVE_TRY(Token name, lex_.expect(TokenKind::word, "an attribute such as dim=1"));
  const Schema& schema = spec_.op->schema;
  const int index = schema.find(name.text);
  if (index < 0) return unknown_attr(name);
  const ArgDef& arg = schema.args[index];
  if (arg.is_operand() && !arg.number_allowed)
    return lex_.error(name.at, rule::attr, "'{}' of {} is a tensor, expected it before ';'",
                      name.text, spec_.op->name);
  const auto key = static_cast<uint16_t>(index);
  if (spec_.attrs.find(key))
    return lex_.error(name.at, rule::attr, "the attribute '{}' is given twice", name.text);
  CLEAVE_CHECK(lex_.expect_mark('='));
  given_.push_back({lex_.peek().at, key});
  CLEAVE_TRY(AttrValue value, literals_.read_value());
  spec_.attrs.set(key, std::move(value));
  return {};
}

// Assigns the given operands to the signature's operands in order. An operand that is given as a
// number attribute is skipped; missing ones at the end are none.
Status StatementParser::place_operands(uint32_t close_at) {
  const Schema& schema = spec_.op->schema;
  size_t next = 0;
  for (uint16_t index : schema.operands) {
    const ArgDef& arg = schema.args[index];
    if (arg.number_allowed && spec_.attrs.find(index)) {
      spec_.inputs.push_back(ValueId::number());
    } else if (next < operand_count_) {
      CLEAVE_CHECK(place(operands_[next++], arg));
    } else if (arg.list || !arg.optional) {
      if (arg.list && arg.optional) continue;
      return lex_.error(close_at, rule::operand, "the operand '{}' of {} is missing, expected {}",
                        arg.name, spec_.op->name, arg.list ? "a list of values" : "a value");
    } else {
      spec_.inputs.push_back(ValueId::none());
    }
  }
  if (next == operand_count_) return {};
  return lex_.error(operands_[next].at, rule::operand, "{}, expected at most {} of {}",
                    counted(operand_count_, "operand"), next, spec_.op->name);
}

Status StatementParser::place(const Operand& operand, const ArgDef& arg) {
  if (operand.is_list != arg.list)
    return lex_.error(operand.at, rule::operand, "'{}' of {} is {}, expected {}", arg.name,
                      spec_.op->name, operand.is_list ? "a list" : "one value",
                      arg.list ? "a list such as [%x, %y]" : "one value");
  const bool none_allowed = arg.list ? arg.optional_item : arg.optional;
  for (ValueId v : operand.items) {
    if (v.is_none() && !none_allowed)
      return lex_.error(operand.at, rule::operand, "'{}' of {} is none, expected a value", arg.name,
                        spec_.op->name);
    spec_.inputs.push_back(v);
  }
  if (arg.list) spec_.list_size = static_cast<uint32_t>(operand.items.size());
  return {};
}

// ---- what stands after the call

Status StatementParser::read_tag() {
  lex_.take();
  CLEAVE_TRY(Token word, lex_.expect(TokenKind::word, "'recompute'"));
  if (word.text != "recompute")
    return lex_.error(word.at, rule::tag, "the tag '!{}' is not known, expected '!recompute'",
                      word.text.substr(0, 40));
  CLEAVE_CHECK(lex_.expect_mark('('));
  CLEAVE_TRY(Token policy, lex_.expect(TokenKind::word, "a policy such as must_save"));
  std::string all;
  bool found = false;
  for (int i = 0; i <= static_cast<int>(Recompute::must_recompute); ++i) {
    auto p = static_cast<Recompute>(i);
    all += fmt::format(" {}", name_of(p));
    if (policy.text == name_of(p)) spec_.tag.policy = p, found = true;
  }
  if (!found)
    return lex_.error(policy.at, rule::tag, "the policy '{}' is not known, expected one of{}",
                      policy.text.substr(0, 40), all);
  bool more = lex_.accept_mark(',');
  if (more && lex_.accept_word("ac")) {
    CLEAVE_CHECK(lex_.expect_mark('='));
    CLEAVE_TRY(spec_.tag.ac_graph, literals_.read_integer(INT64_MIN, INT64_MAX));
    more = lex_.accept_mark(',');
  }
  if (more) CLEAVE_CHECK(read_memory_budget());
  return lex_.expect_mark(')');
}

Status StatementParser::read_memory_budget() {
  if (!lex_.accept_word("memory_budget")) return lex_.unexpected("'ac=' or 'memory_budget='");
  CLEAVE_CHECK(lex_.expect_mark('='));
  const uint32_t at = lex_.peek().at;
  CLEAVE_TRY(const AttrValue value, literals_.read_value());
  const double* budget = value.get<double>();
  if (budget == nullptr || !(*budget >= 0 && *budget <= 1))
    return lex_.error(at, rule::tag, "memory_budget is {}, expected a real number from 0.0 to 1.0",
                      value.text());
  spec_.tag.memory_budget = *budget;
  return {};
}

Result<Type> StatementParser::read_type(bool& is_complex) {
  const bool in_parts = composites_ != nullptr && composites_->takes_complex_apart();
  return literals_.read_type(in_parts ? &is_complex : nullptr);
}

Status StatementParser::read_types() {
  const uint32_t at = lex_.take().at;
  has_types_ = true;
  do {
    type_at_.push_back(lex_.peek().at);
    bool is_complex = false;
    CLEAVE_TRY(Type t, read_type(is_complex));
    types_.push_back(std::move(t));
    type_is_complex_.push_back(is_complex);
  } while (lex_.accept_mark(','));
  if (types_.size() == spec_.names.size()) return {};
  return lex_.error(at, rule::results, "{}, expected one for each of {}",
                    counted(types_.size(), "type"), counted(spec_.names.size(), "result"));
}

namespace {

struct Source {
  std::string_view file;
  uint32_t line = 0;
};

// file:line or "a file":line, alone in a comment; any other text is an ordinary comment.
std::optional<Source> source_of(std::string_view comment) {
  const char* blanks = " \t\r";
  const size_t begin = comment.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return std::nullopt;
  comment = comment.substr(begin, comment.find_last_not_of(blanks) + 1 - begin);
  const size_t colon = comment.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Source s{comment.substr(0, colon), 0};
  std::string_view digits = comment.substr(colon + 1);
  auto [p, status] = std::from_chars(digits.data(), digits.data() + digits.size(), s.line);
  if (digits.empty() || status != std::errc() || p != digits.data() + digits.size())
    return std::nullopt;
  if (s.file.size() > 2 && s.file.front() == '"' && s.file.back() == '"')
    s.file = s.file.substr(1, s.file.size() - 2);
  else if (s.file.find_first_of(" \t") != std::string_view::npos)
    return std::nullopt;
  return s.file.find('"') == std::string_view::npos ? std::optional<Source>(s) : std::nullopt;
}

}  // namespace

Status StatementParser::read_source() {
  if (lex_.at(TokenKind::end)) return {};
  CLEAVE_TRY(Token end, lex_.expect(TokenKind::newline, "the end of the line"));
  if (auto s = source_of(end.text)) {
    if (graph_->files()[last_file_] != s->file) last_file_ = graph_->file_id(std::string(s->file));
    spec_.loc = {last_file_, s->line};
  }
  return {};
}

// ---- the node

Status StatementParser::add() {
  if (is_composite_ || touches_complex()) return add_composite();
  const size_t names = spec_.names.size();
  auto added = graph_->take_node(spec_);
  if (!added.ok()) return explain(std::move(added).failure());
  const Node& node = graph_->node(*added);
  if (node.output_count != names)
    return lex_.error(names ? result_at_[0] : op_at_, rule::results, "{}, expected the {} of {}",
                      counted(names, "result"), node.output_count, spec_.op->name);
  if (!has_types_) return {};
  Values results;
  for (uint32_t k = 0; k < node.output_count; ++k) results.push_back(node.out(k));
  return check_types(results);
}

// Finds the token responsible for a refused node.
Failure StatementParser::explain(Failure failure) {
  std::unordered_set<std::string_view> before;
  for (size_t k = 0; k < spec_.names.size(); ++k)
    if (graph_->find(spec_.names[k]).valid() || !before.insert(spec_.names[k]).second)
      return lex_.error(result_at_[k], rule::taken, "the name %{} is taken, expected a new one",
                        spec_.names[k]);
  const Schema& schema = spec_.op->schema;
  for (const GivenAttr& a : given_)
    if (const AttrValue* given = spec_.attrs.find(a.arg))
      if (auto v = checked_attr(schema.args[a.arg], *given); !v.ok())
        return lex_.error(a.at, rule::attr, "{}", v.failure().message);
  for (uint16_t index : schema.attrs)
    if (!schema.args[index].has_default && !spec_.attrs.find(index))
      return lex_.error(op_at_, rule::attr,
                        "the attribute '{}' of {} is missing, expected it: it has no default",
                        schema.args[index].name, spec_.op->name);
  if (schema.results < 0) {  // as many results as infer returns
    const size_t names = spec_.names.size();
    NodeSpec unnamed = spec_;
    unnamed.names.clear();
    if (auto added = graph_->add_node(std::move(unnamed)); added.ok())
      return lex_.error(names ? result_at_[0] : op_at_, rule::results, "{}, expected the {} of {}",
                        counted(names, "result"), graph_->node(*added).output_count,
                        spec_.op->name);
  }
  // "op: C1: ..." names the operator's own rule
  std::string_view text = failure.message;
  if (text.starts_with(spec_.op->name + ": C")) {
    const size_t colon = spec_.op->name.size() + 2;
    const size_t end = text.find(": ", colon);
    return lex_.placed(op_at_, failure.kind, text.substr(0, end),
                       std::string(text.substr(end + 2)));
  }
  return lex_.placed(op_at_, failure.kind, rule::refused, failure.message);
}

// A result of a composite that is not covered is none. PyTorch's shape functions give a type to
// what an output_mask leaves out (grid_sampler_2d_backward); it is none all the same.
Status StatementParser::check_types(const Values& results) {
  for (size_t k = 0; k < types_.size(); ++k) {
    const ValueId v = results[k];
    if (!v.valid()) continue;
    const Type& inferred = graph_->type(v);
    Type& given = types_[k];
    if (given.is_none) {
      if (!inferred.is_none) unused_.insert(v.v);
      continue;
    }
    const OpDef& op = *graph_->node(graph_->value(v).def).op;
    if (inferred.is_none && op.schema.find("output_mask") >= 0) continue;
    bool same = !inferred.is_none && given.dtype == inferred.dtype &&
                given.device == inferred.device && given.rank() == inferred.rank();
    for (size_t d = 0; same && d < given.shape.size(); ++d)
      same = given.shape[d] == inferred.shape[d] ||
             graph_->env().provably_equal(given.shape[d], inferred.shape[d]);
    if (!same) {
      given.strides.reset();
      Type expected = inferred;
      expected.strides.reset();
      return lex_.error(type_at_[k], rule::types, "{} is given, expected {}", given.text(),
                        expected.text());
    }
    if (given.strides != inferred.strides) graph_->set_strides(v, std::move(given.strides));
  }
  return {};
}

}  // namespace cleave
