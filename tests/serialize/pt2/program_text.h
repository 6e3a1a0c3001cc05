// Small torch.export programs out of a few lines of JSON.
#ifndef WEFT_TESTS_SERIALIZE_PT2_PROGRAM_TEXT_H_
#define WEFT_TESTS_SERIALIZE_PT2_PROGRAM_TEXT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft::pt2 {

// The contents of an archive. Pieces of JSON are in the format's own form.
struct TestProgram {
  struct Tensor {
    std::string name;
    int dtype = 7;                   // FLOAT.
    std::vector<std::string> sizes;  // Numbers, or SymPy expressions.
  };
  // User inputs; further values whose types the file knows.
  std::vector<Tensor> inputs;
  std::vector<Tensor> values;
  struct Weight {
    std::string name;    // Of the graph input.
    std::string target;  // Qualified.
    std::string kind = "parameter";
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    int64_t offset = 0;
    std::string file;  // Of its storage.
  };
  std::vector<Weight> weights;
  std::map<std::string, std::vector<float>> storages;
  // "name = target(arg: json, ...)": see Node().
  std::vector<std::string> nodes;
  std::vector<std::string> outputs;       // Names of tensors.
  std::vector<std::string> output_specs;  // When not plain user outputs.
  std::string ranges = "{}";
  std::string extra;  // Further members of the top level.

  // One node: JSON of inputs by name, and of outputs.
  static std::string Node(const std::string& target,
                          const std::vector<std::pair<std::string, std::string>>& inputs,
                          const std::vector<std::string>& outputs);
  // {"as_tensor": {"name": "x"}}.
  static std::string T(const std::string& name);

  std::string Json() const;
  std::string Archive() const;
};

}  // namespace weft::pt2

#endif  // WEFT_TESTS_SERIALIZE_PT2_PROGRAM_TEXT_H_
