// Writes small archives, the seeds of the fuzzer of .pt2 files:
//
//   write_seeds FOLDER
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tests/serialize/pt2/program_text.h"
#include "tests/serialize/pt2/saved_writer.h"
#include "tests/serialize/pt2/zip_writer.h"

namespace weft::pt2 {
namespace {

std::string T(const std::string& name) { return TestProgram::T(name); }

TestProgram Static() {
  TestProgram p;
  p.inputs = {{"x", 7, {"2", "2"}}};
  p.weights = {{"p_w", "w", "parameter", {2, 2}, {1, 2}, 0, "weight_0"}};
  p.storages["data/weights/weight_0"] = {1, 2, 3, 4};
  p.nodes = {TestProgram::Node("torch.ops.aten.mm.default", {{"self", T("x")}, {"mat2", T("p_w")}},
                               {T("y")}),
             TestProgram::Node("torch.ops.aten.add_.Tensor",
                               {{"self", T("y")}, {"other", "{\"as_float\":\"NaN\"}"}}, {T("z")}),
             TestProgram::Node("torch.ops.aten.split.Tensor",
                               {{"self", T("z")}, {"split_size", "{\"as_int\":1}"}},
                               {"{\"as_tensors\":[{\"name\":\"a\"},"
                                "{\"name\":\"b\"}]}"})};
  p.outputs = {"a", "z"};
  return p;
}

TestProgram Dynamic() {
  TestProgram p;
  p.inputs = {{"x", 7, {"Symbol('s0', integer=True)", "3"}}};
  p.ranges = "{\"s0\":{\"min_val\":2,\"max_val\":null}}";
  p.nodes = {
      TestProgram::Node("torch.ops.aten.sym_size.int",
                        {{"self", T("x")}, {"dim", "{\"as_int\":0}"}},
                        {"{\"as_sym_int\":{\"as_name\":\"n\"}}"}),
      TestProgram::Node("_operator.mul",
                        {{"a", "{\"as_sym_int\":{\"as_name\":\"n\"}}"}, {"b", "{\"as_int\":3}"}},
                        {"{\"as_sym_int\":{\"as_name\":\"m\"}}"}),
      TestProgram::Node("torch.ops.aten.view.default",
                        {{"self", T("x")}, {"size", "{\"as_sym_ints\":[{\"as_name\":\"m\"}]}"}},
                        {T("y")})};
  p.values = {{"y", 7, {"Mul(Integer(3), Symbol('s0'))"}}};
  p.outputs = {"y"};
  return p;
}

TestProgram Nested() {
  TestProgram p;
  p.inputs = {{"c", 12, {}}, {"x", 7, {"2"}}};
  const std::string graph =
      "{\"as_graph\":{\"name\":\"g\",\"graph\":{\"inputs\":[" + T("a") + "],\"outputs\":[" +
      T("r") + "],\"nodes\":[" +
      TestProgram::Node("torch.ops.aten.relu.default", {{"self", T("a")}}, {T("r")}) +
      "],\"tensor_values\":{},\"sym_int_values\":{}}}}";
  p.nodes = {TestProgram::Node(
      "torch.ops.higher_order.cond",
      {{"", T("c")}, {"", graph}, {"", graph}, {"", "{\"as_tensors\":[{\"name\":\"x\"}]}"}},
      {T("y")})};
  p.outputs = {"y"};
  return p;
}

std::vector<SavedTensor> Tensors() { return {{"w", "0", {2, 2}, {1, 2}, 0, true}}; }

// An archive from before PyTorch 2.8, with the tensors of torch.save.
std::string Old() {
  ZipWriter zip;
  zip.Add("serialized_exported_program.json", Static().Json());
  zip.Add("serialized_state_dict.pt", SavedFile(PickleOf(Tensors()), {{"0", {1, 2, 3, 4}}}));
  zip.Add("serialized_constants.pt", SavedFile(PickleOf({}), {}));
  zip.Add("version", "8.8");
  return zip.Finish();
}

bool Write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file.good();
}

}  // namespace
}  // namespace weft::pt2

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_seeds FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  namespace pt2 = weft::pt2;
  pt2::ZipWriter packed;
  packed.AddDeflated("m/archive_format", "pt2");
  packed.AddDeflated("m/models/model.json", pt2::Static().Json());
  const bool ok = pt2::Write(folder + "/static.pt2", pt2::Static().Archive()) &&
                  pt2::Write(folder + "/dynamic.pt2", pt2::Dynamic().Archive()) &&
                  pt2::Write(folder + "/nested.pt2", pt2::Nested().Archive()) &&
                  pt2::Write(folder + "/old.pt2", pt2::Old()) &&
                  pt2::Write(folder + "/tensors.pkl", pt2::PickleOf(pt2::Tensors())) &&
                  pt2::Write(folder + "/packed.pt2", packed.Finish());
  return ok ? 0 : 1;
}
