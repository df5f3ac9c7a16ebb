#include "import/exported/tensor_table.h"

#include <array>
#include <cstring>
#include <deque>
#include <map>

#include "base/printable.h"

namespace cleave::exported {
namespace {

struct Item {
  enum class Kind : uint8_t { nothing, number, text, name, sequence, table, storage, tensor };
  Kind kind = Kind::nothing;
  int64_t number = 0;        // of a flag, too
  std::string text;          // a text; "torch.FloatStorage"; the key of a storage
  std::vector<Item*> items;  // of a sequence; key, value, key, value, ... of a table
  DType dtype = DType::f32;  // of a storage, or of its complex numbers' parts
  bool is_complex = false;
  Payload payload;  // of a tensor
};
using Kind = Item::Kind;

struct StorageType {
  std::string_view name;
  DType dtype;
  bool is_complex = false;
};
constexpr std::array<StorageType, 12> storage_types = {
    {{"torch.FloatStorage", DType::f32},
     {"torch.DoubleStorage", DType::f64},
     {"torch.HalfStorage", DType::f16},
     {"torch.BFloat16Storage", DType::bf16},
     {"torch.LongStorage", DType::i64},
     {"torch.IntStorage", DType::i32},
     {"torch.ShortStorage", DType::i16},
     {"torch.CharStorage", DType::i8},
     {"torch.ByteStorage", DType::u8},
     {"torch.BoolStorage", DType::boolean},
     {"torch.ComplexFloatStorage", DType::f32, true},
     {"torch.ComplexDoubleStorage", DType::f64, true}}};

class TableReader {
 public:
  TableReader(std::string_view bytes, std::shared_ptr<const ZipArchive> archive, std::string root)
      : bytes_(bytes), archive_(std::move(archive)), root_(std::move(root)) {}

  Result<Payloads> read() {
    while (true) {
      CLEAVE_TRY(const uint8_t op, byte());
      if (op == '.') break;
      CLEAVE_CHECK(step(op));
    }
    CLEAVE_TRY(const Item* table, pop(Kind::table));
    Payloads out;
    for (size_t k = 0; k + 1 < table->items.size(); k += 2) {
      const Item &key = *table->items[k], &value = *table->items[k + 1];
      if (key.kind != Kind::text || value.kind != Kind::tensor)
        return unsupported("an entry {} that is no tensor", printable(key.text));
      if (!out.emplace(key.text, value.payload).second)
        return user_error("{} is there twice", printable(key.text));
    }
    return out;
  }

 private:
  // ---- bytes
  Result<uint64_t> little(size_t size) {
    if (bytes_.size() - at_ < size) return user_error("data.pkl ends early");
    uint64_t v = 0;
    for (size_t k = 0; k < size; ++k)
      v |= static_cast<uint64_t>(static_cast<uint8_t>(bytes_[at_ + k])) << (8 * k);
    at_ += size;
    return v;
  }
  Result<uint8_t> byte() {
    CLEAVE_TRY(const uint64_t v, little(1));
    return static_cast<uint8_t>(v);
  }
  Result<std::string> take(uint64_t size) {
    if (bytes_.size() - at_ < size) return user_error("data.pkl ends early");
    std::string s(bytes_.substr(at_, size));
    at_ += size;
    return s;
  }
  Result<std::string> line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) return user_error("data.pkl ends early");
    std::string s(bytes_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }

  // ---- the stack
  Item* made(Kind kind) {
    items_.emplace_back();
    items_.back().kind = kind;
    return &items_.back();
  }
  void push(Item* item) { stack_.push_back(item); }
  Status push_number(int64_t v) {
    Item* i = made(Kind::number);
    i->number = v;
    push(i);
    return {};
  }
  Result<Item*> pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back()))
      return user_error("data.pkl takes what isn't there");
    Item* i = stack_.back();
    stack_.pop_back();
    return i;
  }
  Result<Item*> pop(Kind kind) {
    CLEAVE_TRY(Item* const i, pop());
    if (i->kind != kind) return unsupported("it holds something else than a dict of tensors");
    return i;
  }
  Result<std::vector<Item*>> pop_marked() {
    if (marks_.empty()) return user_error("data.pkl takes what isn't there");
    std::vector<Item*> out(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                           stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return out;
  }
  Status push_sequence(std::vector<Item*> items) {
    Item* i = made(Kind::sequence);
    i->items = std::move(items);
    push(i);
    return {};
  }
  Status push_last(size_t count) {
    std::vector<Item*> items(count);
    for (size_t k = count; k-- > 0;) { CLEAVE_TRY(items[k], pop()); }
    return push_sequence(std::move(items));
  }
  Status remember(uint64_t key) {
    if (stack_.empty()) return user_error("data.pkl keeps what isn't there");
    memo_[key] = stack_.back();
    return {};
  }
  Status recall(uint64_t key) {
    const auto at = memo_.find(key);
    if (at == memo_.end()) return user_error("data.pkl recalls what it didn't keep");
    push(at->second);
    return {};
  }
  Status push_text(uint64_t size) {
    Item* i = made(Kind::text);
    CLEAVE_TRY(i->text, take(size));
    push(i);
    return {};
  }
  Status push_name(std::string name) {
    const bool known = name == "collections.OrderedDict" ||
                       name == "torch._utils._rebuild_tensor_v2" ||
                       name == "torch._utils._rebuild_parameter" ||
                       name == "torch._utils._rebuild_parameter_with_state" || storage_type(name);
    if (!known)
      return unsupported("it names {}: only tables of tensors are read, and nothing is called",
                         printable(name));
    Item* i = made(Kind::name);
    i->text = std::move(name);
    push(i);
    return {};
  }
  static const StorageType* storage_type(std::string_view name) {
    for (const StorageType& t : storage_types)
      if (t.name == name) return &t;
    return nullptr;
  }

  // More entries of the table below the mark; lists stay empty.
  Status add_entries(std::vector<Item*> entries) {
    CLEAVE_TRY(Item* const table, pop(Kind::table));
    if (entries.size() % 2 != 0) return user_error("data.pkl has a key without a value");
    table->items.insert(table->items.end(), entries.begin(), entries.end());
    push(table);
    return {};
  }

  // ---- what the words stand for
  Status storage() {
    CLEAVE_TRY(const Item* const id, pop(Kind::sequence));
    const auto& i = id->items;
    const bool ok = i.size() == 5 && i[0]->text == "storage" && i[1]->kind == Kind::name &&
                    i[2]->kind == Kind::text && storage_type(i[1]->text);
    if (!ok) return unsupported("a storage that it doesn't describe as torch.save does");
    Item* s = made(Kind::storage);
    s->dtype = storage_type(i[1]->text)->dtype;
    s->is_complex = storage_type(i[1]->text)->is_complex;
    s->text = i[2]->text;
    push(s);
    return {};
  }

  static Status fill(const Item& from, std::vector<SymValue>& into) {
    if (from.kind != Kind::sequence) return user_error("a tensor whose sizes are no list");
    for (const Item* v : from.items) {
      if (v->kind != Kind::number) return user_error("a tensor whose sizes are no numbers");
      into.push_back({v->number, {}, {}});
    }
    return {};
  }

  Status reduce() {
    CLEAVE_TRY(const Item* const arguments, pop(Kind::sequence));
    CLEAVE_TRY(const Item* const name, pop(Kind::name));
    const auto& a = arguments->items;
    if (name->text == "collections.OrderedDict") {
      if (!a.empty()) return unsupported("an OrderedDict with arguments");
      push(made(Kind::table));
      return {};
    }
    const bool has_state = name->text == "torch._utils._rebuild_parameter_with_state";
    if (has_state || name->text == "torch._utils._rebuild_parameter") {
      if (a.size() != (has_state ? 4 : 3) || a[0]->kind != Kind::tensor)
        return user_error("a parameter that is none");
      Item* t = made(Kind::tensor);
      t->payload = a[0]->payload;
      t->payload.is_param = true;
      t->payload.meta.requires_grad = a[1]->number != 0;
      push(t);
      return {};
    }
    if (name->text != "torch._utils._rebuild_tensor_v2" || a.size() < 6 ||
        a[0]->kind != Kind::storage || a[1]->kind != Kind::number)
      return unsupported("a tensor that it doesn't describe as torch.save does");
    Item* t = made(Kind::tensor);
    Payload& p = t->payload;
    p.archive = archive_;
    p.file = root_ + "data/" + a[0]->text;
    p.meta.dtype = a[0]->dtype;
    p.meta.is_complex = a[0]->is_complex;
    p.meta.offset.number = a[1]->number;
    CLEAVE_CHECK(fill(*a[2], p.meta.sizes));
    CLEAVE_CHECK(fill(*a[3], p.meta.strides));
    p.meta.requires_grad = a[4]->number != 0;
    push(t);
    return {};
  }

  Status step(uint8_t op) {
    switch (op) {
      case 0x80: return byte().ok() ? Status() : Status(user_error("data.pkl ends early"));
      case 0x95: return little(8).ok() ? Status() : Status(user_error("data.pkl ends early"));
      case '(': marks_.push_back(stack_.size()); return {};
      case ')': return push_sequence({});
      case ']': return push_sequence({});
      case '}': push(made(Kind::table)); return {};
      case 'N': push(made(Kind::nothing)); return {};
      case 0x88: return push_number(1);
      case 0x89: return push_number(0);
      case 0x85: return push_last(1);
      case 0x86: return push_last(2);
      case 0x87: return push_last(3);
      case 't': {
        CLEAVE_TRY(std::vector<Item*> items, pop_marked());
        return push_sequence(std::move(items));
      }
      case 'u': {
        CLEAVE_TRY(std::vector<Item*> items, pop_marked());
        return add_entries(std::move(items));
      }
      case 's': {
        CLEAVE_TRY(Item* const value, pop());
        CLEAVE_TRY(Item* const key, pop());
        return add_entries({key, value});
      }
      case 'b': return pop().ok() ? Status() : Status(user_error("data.pkl builds from nothing"));
      case 'Q': return storage();
      case 'R': return reduce();
      default: return step_with_number(op);
    }
  }

  Status step_with_number(uint8_t op) {
    constexpr std::string_view ops = "JKMX\x8chjqr\x8a";
    constexpr std::array<size_t, 10> sizes = {4, 1, 2, 4, 1, 1, 4, 1, 4, 1};
    const size_t known = ops.find(static_cast<char>(op));
    if (op == 'c') {
      CLEAVE_TRY(const std::string module, line());
      CLEAVE_TRY(const std::string name, line());
      return push_name(module + "." + name);
    }
    if (known == ops.npos) return unsupported("the opcode {} of pickles", op);
    CLEAVE_TRY(const uint64_t v, little(sizes[known]));
    switch (op) {
      case 'J': return push_number(static_cast<int32_t>(v));
      case 'K':
      case 'M': return push_number(static_cast<int64_t>(v));
      case 'h':
      case 'j': return recall(v);
      case 'q':
      case 'r': return remember(v);
      case 0x8a: {
        if (v > 8) return user_error("a number beyond 64 bits");
        CLEAVE_TRY(const uint64_t bits, little(v));
        const bool negative = v > 0 && v < 8 && (bits >> (8 * v - 1)) != 0;
        return push_number(
            static_cast<int64_t>(negative ? bits | (~uint64_t{0} << (8 * v)) : bits));
      }
      default: return push_text(v);
    }
  }

  std::string_view bytes_;
  std::shared_ptr<const ZipArchive> archive_;
  std::string root_;
  size_t at_ = 0;
  std::deque<Item>
      items_;  // owns all; an item may lie in itself, so nothing goes through them deeply
  std::vector<Item*> stack_;
  std::vector<size_t> marks_;
  std::map<uint64_t, Item*> memo_;
};

}  // namespace

Result<Payloads> read_tensor_table(const std::shared_ptr<const ZipArchive>& archive) {
  const ZipArchive& zip = *archive;
  const std::vector<ZipArchive::Entry>& entries = zip.entries();
  const std::string first = entries.empty() ? "" : entries[0].name;
  const std::string root = first.substr(0, first.find('/') + 1);
  const auto in_archive = [&](Failure f) { return std::move(f).within(zip.path()); };
  if (const ZipArchive::Entry* order = zip.find(root + "byteorder")) {
    CLEAVE_TRY(const std::vector<std::byte> bytes, zip.read(*order));
    if (bytes.size() != 6 || std::memcmp(bytes.data(), "little", 6) != 0)
      return in_archive(unsupported("numbers that begin with their high byte"));
  }
  const ZipArchive::Entry* pickle = zip.find(root + "data.pkl");
  if (!pickle) return in_archive(user_error("{} is missing", printable(root + "data.pkl")));
  CLEAVE_TRY(const std::vector<std::byte> bytes, zip.read(*pickle));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Result<Payloads> table = TableReader(text, archive, root).read();
  if (!table.ok()) return in_archive(std::move(table).failure());
  return table;
}

}  // namespace cleave::exported
