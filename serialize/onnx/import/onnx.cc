#include "serialize/onnx/import/onnx.h"

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/mapped_memory.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "graph/ir/module.h"
#include "graph/verify/verifier.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/tensor_proto.h"
#include "serialize/onnx/import/wire_scan.h"
#include "serialize/onnx/raw_data.h"

namespace weft {
namespace {

// Protobuf represents sizes as int.
constexpr size_t kMaxProtoBytes = (size_t{1} << 31) - 1;

// The file's part of the progress; ImportProgress in import_model.h has the other half.
constexpr int64_t kFileUnits = onnx_import::kImportUnits / 2;

using Progress = std::function<void(int64_t done, int64_t total)>;

// Memory as a stream of blocks; reports the progress of reading.
class ReportingStream : public ::google::protobuf::io::ZeroCopyInputStream {
 public:
  ReportingStream(absl::string_view bytes, const Progress& progress)
      : stream_(bytes.data(), static_cast<int>(bytes.size()), progress ? kBlockBytes : -1),
        size_(static_cast<int64_t>(bytes.size())),
        progress_(progress) {}

  bool Next(const void** data, int* size) override {
    if (progress_ && size_ > 0) {
      progress_(kFileUnits * ByteCount() / size_, onnx_import::kImportUnits);
    }
    return stream_.Next(data, size);
  }
  void BackUp(int count) override { stream_.BackUp(count); }
  bool Skip(int count) override { return stream_.Skip(count); }
  int64_t ByteCount() const override { return stream_.ByteCount(); }

 private:
  static constexpr int kBlockBytes = 1 << 22;

  ::google::protobuf::io::ArrayInputStream stream_;
  const int64_t size_;
  const Progress& progress_;
};

bool ParseProto(absl::string_view bytes, int max_depth, const Progress& progress,
                ::google::protobuf::MessageLite* message) {
  if (bytes.size() > kMaxProtoBytes) return false;
  ReportingStream stream(bytes, progress);
  ::google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(static_cast<int>(kMaxProtoBytes));
  coded.SetRecursionLimit(max_depth);
  return message->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ReadFile(const std::string& path, int64_t max_bytes) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", error.message()));
  }
  if (size > static_cast<uint64_t>(max_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " has ", size, " bytes; the limit is ", max_bytes));
  }
  return HostBuffer::MapFile(path);
}

absl::string_view Bytes(const HostBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

// A part of a mapping, which it keeps alive. The destructor of the last tensor on it releases the
// pages, because passes have replaced these weights by others.
class PartBuffer : public HostBuffer {
 public:
  PartBuffer(std::shared_ptr<MappedMemory> whole, absl::string_view part)
      : HostBuffer(reinterpret_cast<uint8_t*>(const_cast<char*>(part.data())),
                   static_cast<int64_t>(part.size())),
        whole_(std::move(whole)) {}
  ~PartBuffer() override { ReleaseMappedPages(data(), size()); }

 private:
  const std::shared_ptr<MappedMemory> whole_;
};

// `file` holds `bytes`; if it is null, weights are copied.
absl::StatusOr<std::unique_ptr<Module>> Import(absl::string_view bytes,
                                               const std::shared_ptr<MappedMemory>& file,
                                               const std::string& base_dir,
                                               const OnnxImportOptions& options) {
  if (bytes.size() > kMaxProtoBytes ||
      static_cast<int64_t>(bytes.size()) > options.max_model_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has ", bytes.size(), " bytes; the limit is ",
                     std::min<int64_t>(options.max_model_bytes, kMaxProtoBytes)));
  }
  std::optional<onnx_import::WithoutRawData> small;
  if (file != nullptr) small = onnx_import::RemoveRawData(bytes);
  // A nested graph takes three messages (attribute, graph, node), and a tensor or type inside a few
  // more.
  const int max_depth = 3 * options.max_nesting + 16;
  ::onnx::ModelProto model;
  if (!ParseProto(small ? absl::string_view(small->model) : bytes, max_depth, options.progress,
                  &model)) {
    return onnx_import::ExplainParseFailure(bytes, options.max_nesting);
  }
  onnx_import::ModelImporter importer(&model, base_dir, options);
  if (small) {
    for (const onnx_import::RawData& raw : small->removed) {
      importer.loader().SetRawData(&model.graph().initializer(raw.initializer),
                                   std::make_shared<PartBuffer>(file, raw.data));
    }
  }
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, importer.Run());
  WEFT_RETURN_IF_ERROR(Verify(*module));
  return module;
}

absl::StatusOr<HostTensor> ParseTensor(absl::string_view bytes, std::optional<DType> expected) {
  constexpr int kMaxDepth = 16;
  ::onnx::TensorProto proto;
  if (!ParseProto(bytes, kMaxDepth, nullptr, &proto)) {
    return absl::InvalidArgumentError("not a TensorProto: truncated or malformed");
  }
  if (expected == DType::kBF16 && proto.data_type() == ::onnx::TensorProto::UINT16) {
    proto.set_data_type(::onnx::TensorProto::BFLOAT16);
  }
  onnx_import::TensorLoader loader("");
  return loader.Load(proto, absl::StrCat("tensor '", proto.name(), "'"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> ImportOnnxBytes(absl::string_view bytes,
                                                        const std::string& base_dir,
                                                        const OnnxImportOptions& options) {
  return CatchOutOfMemory([&] { return Import(bytes, nullptr, base_dir, options); });
}

absl::StatusOr<std::unique_ptr<Module>> ImportOnnx(const std::string& path,
                                                   const OnnxImportOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<HostBuffer> file,
                        ReadFile(path, options.max_model_bytes));
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  auto module = CatchOutOfMemory(
      [&] { return Import(Bytes(*file), std::make_shared<MappedMemory>(file), folder, options); });
  if (!module.ok()) return Annotate(module.status(), path);
  return module;
}

absl::StatusOr<HostTensor> ParseTensorProto(absl::string_view bytes,
                                            std::optional<DType> expected) {
  return CatchOutOfMemory([&] { return ParseTensor(bytes, expected); });
}

absl::StatusOr<HostTensor> LoadTensorProto(const std::string& path, std::optional<DType> expected) {
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<HostBuffer> file, ReadFile(path, kMaxProtoBytes));
  auto tensor = ParseTensorProto(Bytes(*file), expected);
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

}  // namespace weft
