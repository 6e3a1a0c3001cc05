// The parser of modules; text.h has its interface.
//
// One pass: values are defined before they are used, and each node is checked and its types are
// inferred as it is made. The only look-ahead is for `constants` blocks, which may follow the
// functions that refer to them. Recursion is bounded by the nesting of regions, which has a limit.
#ifndef WEFT_GRAPH_TEXT_TEXT_MODULE_PARSER_H_
#define WEFT_GRAPH_TEXT_TEXT_MODULE_PARSER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/ir/ids.h"
#include "graph/ir/infer_cache.h"
#include "graph/ir/module.h"
#include "graph/text/parts/text_facts.h"
#include "graph/text/parts/text_lexer.h"
#include "graph/text/parts/text_reader.h"
#include "graph/text/text_constants.h"
#include "graph/text/text_content.h"

namespace weft {
class ConstantStore;
class OpRegistry;
class SymbolTable;
class Value;
}  // namespace weft

namespace weft::text {

// True for %12.
inline bool IsNumber(const Token& token) {
  return token.kind == kValue && token.text[0] >= '0' && token.text[0] <= '9';
}

// The values that the text of a graph has named so far.
class Scope {
 public:
  // `outer` is the scope around a nested graph.
  explicit Scope(Graph* graph, const Scope* outer = nullptr) : graph_(graph), outer_(outer) {}
  Graph* graph() const { return graph_; }
  const Scope* outer() const { return outer_; }
  // The value that the token names; null if the name is undefined.
  Value* Find(const Token& token) const;
  // False if the name is taken or malformed.
  bool Define(const Token& token, Value* value);
  // True if a node or an input of the graph defines the unbacked symbol.
  bool DefinesSymbol(SymInt symbol) const;

 private:
  Graph* graph_;
  const Scope* outer_;
  std::vector<Value*> numbered_;
  absl::flat_hash_map<uint64_t, Value*> sparse_;  // Numbers out of sequence.
  absl::flat_hash_map<std::string, Value*> named_;
};

// A note as written.
struct ParsedNote {
  size_t begin = 0;
  bool on_operand = false;
  int64_t index = 0;
  std::string key;
  std::string text;
};

// A node that is being read; kept between nodes to spare allocations.
struct Statement {
  size_t begin = 0;  // Offset of the op's name.
  const OpDef* op = nullptr;
  std::vector<Token> results;
  std::vector<Value*> operands;
  std::vector<size_t> operand_begins;
  std::vector<Type> operand_types;
  std::vector<AttrValue> attr_values;
  std::vector<bool> attrs_given;
  bool any_attr = false;
  const AttrList* attrs = nullptr;
  Types types;  // The written types, then the final ones.
  size_t types_begin = 0;
  bool has_types = false;
  ProvenanceId provenance = 0;
  std::vector<ParsedNote> notes;
  std::vector<std::unique_ptr<Graph>> regions;
  std::vector<Graph*> region_ptrs;
  ConstantsReader::Reference constant;

  void Clear();
};

class ModuleParser {
 public:
  // `source` may be null and outlives the parser.
  ModuleParser(absl::string_view text, const OpRegistry& registry, absl::string_view filename,
               const ContentSource* source = nullptr)
      : filename_(filename),
        reader_(text, filename),
        registry_(registry),
        module_(std::make_unique<Module>(registry)),
        constants_(&reader_, filename, &module_->constants()) {
    constants_.set_source(source);
  }

  absl::StatusOr<std::unique_ptr<Module>> Run();

 private:
  struct Signature {
    bool has_outputs = false;
    std::vector<std::pair<size_t, Type>> outputs;  // Types with their offsets.
    // Symbols that earlier text does not mention.
    std::vector<SymInt> input_symbols;
    std::vector<SymInt> output_symbols;
  };

  // text_parser.cc
  bool ParseTopLevel();
  bool ParseFunction();
  bool ParseWhere(absl::Span<const SymInt> input_symbols);
  bool ParseSignature(Scope* scope, Signature* signature);
  bool ParseInput(Scope* scope);
  bool ParseInputAttribute(Graph* graph, int input);
  bool ParseInputNotes(Value* input);
  bool ParseOutputs(const Scope& scope, Signature* signature);
  bool ParseWriteBack(const Scope& scope, size_t begin, std::vector<int>* write_backs);
  void AddSymbol(SymInt symbol);
  void Declare(absl::Span<const SymInt> symbols);
  void DeclareNewSymbols();

  // text_body.cc
  bool ParseBody(Scope* scope, const Signature& signature, size_t depth);
  bool ParseReturn(Scope* scope, const Signature& signature);
  bool ParseStatement(Scope* scope, size_t depth);
  bool ParseResults(Statement* s);
  bool ParseOpName(Statement* s);
  bool UnknownOp(absl::string_view name);
  bool ParseArguments(const Scope& scope, Statement* s);
  bool ParseOperand(const Scope& scope, Value** value);
  bool ParseResultTypes(Statement* s);
  void DefineSymbols(Type type);
  bool ParseLocation(Statement* s);
  bool ParseNotes(std::vector<ParsedNote>* notes);
  bool ParseNote(ParsedNote* note);
  bool ParseRegions(const Scope* outer, Statement* s, size_t depth);
  bool ParseRegion(const Scope* outer, const std::string& name, Statement* s, size_t depth);

  // text_node.cc
  bool MakeNode(Scope* scope, Statement* s);
  bool SetNotes(const std::vector<ParsedNote>& notes, Node* node);
  bool FinishOperands(Statement* s);
  bool FinishAttrs(Statement* s);
  bool CheckAttrSymbols(const Scope& scope, const Statement& s);
  bool FinishTypes(const Scope& scope, Statement* s);
  bool TakeTypes(const Types& inferred, Statement* s);
  bool FinishConstant(Statement* s);
  bool CheckDataDependent(const Scope& scope, const Statement& s, OpArgs args);
  bool CheckNewSymbols(const Scope& scope, const Statement& s, Type type);
  bool CheckResultCount(const Statement& s, size_t count);
  bool CheckWrittenTypes(const Statement& s, const Types& inferred);

  std::string filename_;
  TextReader reader_;
  const OpRegistry& registry_;
  std::unique_ptr<Module> module_;
  ConstantsReader constants_;
  StatedFacts facts_;
  absl::flat_hash_set<std::string> function_names_;
  std::vector<std::unique_ptr<Statement>> statements_;  // By depth.
  absl::flat_hash_map<const OpDef*, const AttrList*> default_attrs_;
  InferCache inferred_;
  // A scratch table in which inference may define symbols that are then dropped.
  std::optional<SymbolTable> scratch_symbols_;
  // Symbols that only where clauses have mentioned so far.
  absl::flat_hash_set<SymInt> mentioned_symbols_;
};

// "1 operand", "2 operands".
std::string Plural(size_t n, absl::string_view noun);

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_TEXT_MODULE_PARSER_H_
