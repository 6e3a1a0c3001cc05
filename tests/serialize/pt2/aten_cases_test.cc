// Operators one by one, against answers of PyTorch that aten_cases.jsonl records
// (torch_cases.py writes it).
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "base/host_buffer.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"

namespace weft::pt2 {
namespace {

using Json = nlohmann::json;

DType DTypeOf(int number) {
  static constexpr DType kDTypes[] = {DType::kBool, DType::kU8,  DType::kI8,  DType::kI16,
                                      DType::kI32,  DType::kI64, DType::kF16, DType::kF32,
                                      DType::kF64,  DType::kC32, DType::kC64, DType::kC128,
                                      DType::kBool, DType::kBF16};
  return kDTypes[number];
}

std::vector<double> Numbers(const Json& values) {
  std::vector<double> numbers;
  for (const Json& v : values) {
    numbers.push_back(v.is_string() ? std::stod(v.get<std::string>()) : v.get<double>());
  }
  return numbers;
}

HostTensor TensorOf(const Json& j) {
  const DType dtype = DTypeOf(j["dtype"].get<int>());
  const std::vector<int64_t> dims = j["dims"].get<std::vector<int64_t>>();
  if (!IsComplex(dtype)) return HostTensor::FromDoubles(dtype, dims, Numbers(j["values"]));
  std::vector<int64_t> pairs = dims;
  pairs.push_back(2);
  const DType real = dtype == DType::kC128 ? DType::kF64 : DType::kF32;
  const HostTensor parts = HostTensor::FromDoubles(real, pairs, Numbers(j["values"]));
  return *HostTensor::View(parts.buffer(), dtype, dims);
}

// Numbers of a result; pairs of complex ones.
std::vector<double> NumbersOf(const HostTensor& tensor) {
  if (!IsComplex(tensor.dtype())) return tensor.ReadDoubles();
  const HostTensor dense = tensor.Contiguous();
  std::vector<int64_t> dims(dense.dims().begin(), dense.dims().end());
  dims.push_back(2);
  const DType real = tensor.dtype() == DType::kC128 ? DType::kF64 : DType::kF32;
  return HostTensor::View(dense.buffer(), real, dims, {}, dense.offset() * 2)->ReadDoubles();
}

TestProgram::Tensor MetaOf(const std::string& name, const Json& j) {
  TestProgram::Tensor tensor;
  tensor.name = name;
  tensor.dtype = j["dtype"].get<int>();
  for (const Json& d : j["dims"]) tensor.sizes.push_back(absl::StrCat(d.get<int64_t>()));
  return tensor;
}

bool IsCompared(const Json& out) { return out.contains("dtype"); }

// A result that is not a tensor, or whose elements no case knows.
std::string TextOfOther(const std::string& name, const Json& out) {
  if (out.contains("none")) return R"({"as_none": true})";
  if (out.contains("size")) {
    return absl::StrCat(R"({"as_sym_int": {"as_int": )", out["size"].get<int>(), "}}");
  }
  return TestProgram::T(name);
}

TestProgram ProgramOf(const Json& test) {
  TestProgram p;
  for (size_t i = 0; i < test["in"].size(); ++i) {
    p.inputs.push_back(MetaOf(absl::StrCat("x", i), test["in"][i]));
  }
  std::vector<std::pair<std::string, std::string>> args;
  for (const Json& arg : test["args"]) {
    args.emplace_back(arg[0].get<std::string>(), arg[1].dump());
  }
  std::vector<std::string> results;
  std::string list;
  for (size_t i = 0; i < test["out"].size(); ++i) {
    const std::string name = absl::StrCat("y", i);
    const Json& out = test["out"][i];
    if (!IsCompared(out)) {
      results.push_back(TextOfOther(name, out));
      continue;
    }
    p.outputs.push_back(name);
    results.push_back(TestProgram::T(name));
    absl::StrAppend(&list, i == 0 ? "" : ",", "{\"name\":\"", name, "\"}");
    if (!test["unsized"].get<bool>()) p.values.push_back(MetaOf(name, out));
  }
  if (test["list"].get<bool>()) results = {absl::StrCat("{\"as_tensors\":[", list, "]}")};
  const std::string target = absl::StrCat("torch.ops.", test["op"].get<std::string>());
  p.nodes = {TestProgram::Node(target, args, results)};
  return p;
}

void Compare(const HostTensor& got, const Json& want) {
  EXPECT_EQ(got.dtype(), DTypeOf(want["dtype"].get<int>()));
  EXPECT_EQ(std::vector<int64_t>(got.dims().begin(), got.dims().end()),
            want["dims"].get<std::vector<int64_t>>());
  const std::vector<double> a = NumbersOf(got);
  const std::vector<double> b = Numbers(want["values"]);
  ASSERT_EQ(a.size(), b.size());
  const bool narrow = got.dtype() == DType::kBF16 || got.dtype() == DType::kF16;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) || std::isinf(b[i])) {
      EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << "element " << i;
      EXPECT_TRUE(std::isnan(b[i]) || a[i] == b[i]) << "element " << i;
      continue;
    }
    EXPECT_NEAR(a[i], b[i], (narrow ? 8e-3 : 3e-5) * std::max(1.0, std::abs(b[i])))
        << "element " << i;
  }
}

TEST(AtenCasesTest, AnswersAsPyTorchDoes) {
  std::ifstream file("tests/serialize/pt2/aten_cases.jsonl");
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    const Json test = Json::parse(line);
    SCOPED_TRACE(
        absl::StrCat(++cases, ": ", test["op"].get<std::string>(), " ", test["args"].dump()));
    const auto module = ImportPt2Bytes(ProgramOf(test).Archive());
    ASSERT_TRUE(module.ok()) << module.status();
    std::vector<HostTensor> inputs;
    for (const Json& input : test["in"]) inputs.push_back(TensorOf(input));
    const auto outputs = reference::Run(*(*module)->main(), inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    std::vector<Json> wanted;
    for (const Json& out : test["out"]) {
      if (IsCompared(out)) wanted.push_back(out);
    }
    ASSERT_EQ(outputs->size(), wanted.size());
    for (size_t i = 0; i < outputs->size(); ++i) Compare((*outputs)[i], wanted[i]);
  }
  EXPECT_GT(cases, 100);
}

}  // namespace
}  // namespace weft::pt2
