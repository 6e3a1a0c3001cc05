#include "api/calibration_data.h"

#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "api/check/seeded_inputs.h"
#include "api/test_data.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "serialize/npy/npy.h"
#include "serialize/pt2/zip_archive.h"

namespace weft {
namespace {

constexpr char kSeeded[] = "seeded:";
constexpr int64_t kMaxSeeded = 1'000'000;

bool IsArrayFile(absl::string_view name) {
  return absl::EndsWith(name, ".npy") || absl::EndsWith(name, ".npz");
}

bool IsState(const Graph& graph, int i) { return graph.input_info(i).initial >= 0; }

// The inputs that a batch gives, in order.
std::vector<int> GivenInputs(const Graph& graph) {
  std::vector<int> given;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    if (!IsState(graph, i)) given.push_back(i);
  }
  return given;
}

absl::Status WrongInputs(const Graph& graph, absl::string_view what) {
  std::vector<std::string> names;
  for (int i : GivenInputs(graph)) names.push_back(graph.input_info(i).name);
  return absl::InvalidArgumentError(
      absl::StrCat(what, "; the model's inputs are ", absl::StrJoin(names, ", ")));
}

using Arrays = std::map<std::string, HostTensor>;

absl::StatusOr<Arrays> ReadNpz(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(auto file, HostBuffer::MapFile(path));
  WEFT_ASSIGN_OR_RETURN(auto archive, pt2::ZipArchive::Open(std::move(file)));
  Arrays arrays;
  for (const std::string& name : archive.names()) {
    WEFT_ASSIGN_OR_RETURN(const auto bytes, archive.Read(name));
    auto tensor = ParseNpy(absl::string_view(reinterpret_cast<const char*>(bytes->data()),
                                             static_cast<size_t>(bytes->size())));
    if (!tensor.ok()) return Annotate(tensor.status(), name);
    arrays[std::string(absl::StripSuffix(name, ".npy"))] = *std::move(tensor);
  }
  return arrays;
}

// By input of the graph; empty tensors for state.
absl::StatusOr<std::vector<HostTensor>> ByInput(const Graph& graph, Arrays arrays) {
  std::vector<HostTensor> ordered(graph.num_inputs());
  const bool by_place = arrays.count("arr_0") > 0;
  int place = 0;
  for (int i : GivenInputs(graph)) {
    const std::string name = by_place ? absl::StrCat("arr_", place++) : graph.input_info(i).name;
    auto array = arrays.extract(name);
    if (array.empty()) return WrongInputs(graph, absl::StrCat("it has no array \"", name, "\""));
    ordered[i] = std::move(array.mapped());
  }
  if (arrays.empty()) return ordered;
  return WrongInputs(graph, absl::StrCat("its array \"", arrays.begin()->first, "\" is none"));
}

// How many batches stand along the first dim, by the constant first dims; 1 where that is not so.
int64_t CountBatches(const Graph& graph, const std::vector<HostTensor>& arrays) {
  int64_t batches = 0;
  for (int i : GivenInputs(graph)) {
    const Type type = graph.input(i)->type();
    const HostTensor& array = arrays[i];
    if (!type.is_tensor() || type.rank() == 0 || array.rank() != type.rank()) return 1;
    const SymInt first = type.dim(0);
    if (!first.is_constant() || first.value() < 1 || array.dim(0) % first.value() != 0) return 1;
    const int64_t here = array.dim(0) / first.value();
    if (batches != 0 && here != batches) return 1;
    batches = here;
  }
  return batches < 1 ? 1 : batches;
}

// `batch` of `batches` equal parts along the first dim.
absl::StatusOr<HostTensor> Part(const HostTensor& array, int64_t batch, int64_t batches) {
  if (batches == 1 || !array.valid()) return array;
  std::vector<int64_t> dims(array.dims().begin(), array.dims().end());
  dims[0] /= batches;
  const int64_t skipped = batch * dims[0] * array.strides()[0];
  return HostTensor::View(array.buffer(), array.dtype(), dims, array.strides(),
                          array.offset() + skipped);
}

absl::Status CheckInput(const Graph& graph, int i, const HostTensor& tensor) {
  const Type type = graph.input(i)->type();
  const std::string got =
      absl::StrCat(DTypeName(tensor.dtype()), "[", absl::StrJoin(tensor.dims(), ", "), "]");
  bool fits = type.is_tensor() ? tensor.dtype() == type.dtype() && tensor.rank() == type.rank()
                               : tensor.dtype() == DType::kI64 && tensor.rank() == 0;
  for (int d = 0; fits && type.is_tensor() && d < type.rank(); ++d) {
    fits = !type.dim(d).is_constant() || type.dim(d).value() == tensor.dim(d);
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", graph.input_info(i).name, " is ", got,
                                                 ", the model takes ", type.ToString()));
}

absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& source) {
  std::error_code error;
  if (!std::filesystem::is_directory(source, error)) {
    if (!FileExists(source)) {
      return absl::NotFoundError(absl::StrCat("cannot open ", source, ": No such file or folder"));
    }
    if (IsArrayFile(source)) return std::vector<std::string>{source};
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": unknown kind of data; .npz and .npy files are read"));
  }
  std::vector<std::string> files;
  for (const std::string& name : ListFolder(source)) {
    if (IsArrayFile(name)) files.push_back(absl::StrCat(source, "/", name));
  }
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(source, " holds no .npz and .npy files"));
  }
  return files;
}

}  // namespace

absl::StatusOr<CalibrationData> CalibrationData::Open(const std::string& source,
                                                      const Graph& graph) {
  CalibrationData data(graph);
  absl::string_view count = source;
  if (absl::ConsumePrefix(&count, kSeeded)) {
    if (!absl::SimpleAtoi(count, &data.seeded_) || data.seeded_ < 1 || data.seeded_ > kMaxSeeded) {
      return absl::InvalidArgumentError(absl::StrCat(
          "seeded:N takes a number of batches from 1 to ", kMaxSeeded, ", not \"", count, "\""));
    }
    return data;
  }
  WEFT_ASSIGN_OR_RETURN(data.files_, FilesOf(source));
  return data;
}

int64_t CalibrationData::num_parts() const {
  return is_seeded() ? seeded_ : static_cast<int64_t>(files_.size());
}

absl::Status CalibrationData::ReadFile(const std::string& path) {
  Arrays arrays;
  if (absl::EndsWith(path, ".npz")) {
    WEFT_ASSIGN_OR_RETURN(arrays, ReadNpz(path));
  } else {
    const std::vector<int> given = GivenInputs(*graph_);
    if (given.size() != 1) {
      return WrongInputs(*graph_, "a .npy file has one array; several go into a .npz file");
    }
    WEFT_ASSIGN_OR_RETURN(arrays[graph_->input_info(given[0]).name], ReadNpy(path));
  }
  WEFT_ASSIGN_OR_RETURN(arrays_, ByInput(*graph_, std::move(arrays)));
  batches_ = CountBatches(*graph_, arrays_);
  batch_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> CalibrationData::SeededBatch() {
  SeedOptions options;
  options.seed = static_cast<uint64_t>(part_++);
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, MakeSeededInputs(*graph_, options));
  for (int i = 0; i < graph_->num_inputs(); ++i) {
    if (IsState(*graph_, i)) inputs[i] = HostTensor();
  }
  return inputs;
}

absl::StatusOr<std::optional<std::vector<HostTensor>>> CalibrationData::Next() {
  if (batch_ == batches_ && part_ == num_parts()) return std::nullopt;
  if (is_seeded()) return SeededBatch();
  if (batch_ == batches_) {
    const std::string& path = files_[part_++];
    const absl::Status status = ReadFile(path);
    if (!status.ok()) return Annotate(status, path);
  }
  std::vector<HostTensor> inputs(arrays_.size());
  for (int i : GivenInputs(*graph_)) {
    WEFT_ASSIGN_OR_RETURN(inputs[i], Part(arrays_[i], batch_, batches_));
    const absl::Status status = CheckInput(*graph_, i, inputs[i]);
    if (!status.ok()) return Annotate(status, files_[part_ - 1]);
  }
  ++batch_;
  return inputs;
}

}  // namespace weft
