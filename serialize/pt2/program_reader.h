// Reads the parts of a program's JSON: arguments, nodes, graphs, specs.
#ifndef WEFT_SERIALIZE_PT2_PROGRAM_READER_H_
#define WEFT_SERIALIZE_PT2_PROGRAM_READER_H_

#include <string>
#include <vector>

#include "serialize/pt2/exported_program.h"
#include "serialize/pt2/json_reader.h"

namespace weft::pt2 {

// Recursion is on graphs within arguments, whose depth the nesting of the JSON bounds. Errors are
// reported to the JsonReader.
class ProgramReader {
 public:
  explicit ProgramReader(JsonReader* json) : json_(*json) {}

  JsonReader& json() { return json_; }
  GraphDef ReadGraph(const Place& at);
  TensorMeta ReadTensorMeta(const Place& at);
  InputSpec ReadInputSpec(const Place& at);
  OutputSpec ReadOutputSpec(const Place& at);

 private:
  NodeDef ReadNode(const Place& at);
  Argument ReadArgument(const Place& at);
  Argument ReadMember(const std::string& key, const Place& at);
  Argument ReadScalar(Argument::Kind kind, const Place& at);
  Argument ReadList(Argument::Kind kind, const Place& at);
  Argument ReadSymbolic(Argument::Kind kind, const Place& at);
  Argument ReadOptionalTensor(const Place& at);
  std::vector<Argument> ReadArguments(const Place& at);
  SizeExpr ReadSize(const Place& at);
  std::vector<SizeExpr> ReadSizes(const Place& at);
  std::string ReadDevice(const Place& at);

  JsonReader& json_;
};

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_PROGRAM_READER_H_
