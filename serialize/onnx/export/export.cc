#include "serialize/onnx/export/export.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/export/export_bytes.h"
#include "serialize/onnx/export/export_graph.h"
#include "serialize/onnx/export/export_quant.h"
#include "serialize/onnx/export/export_writer.h"

namespace weft {
namespace {

using onnx_export::ExternalTensor;
using onnx_export::GraphExporter;
using onnx_export::ModelWriter;

constexpr int64_t kMaxMessage = (int64_t{1} << 31) - 1;
// Below this, external data is not worth a file's page.
constexpr int64_t kSmallTensor = 1024;

// The version of the file format that came with an opset.
int IrVersion(int opset) {
  if (opset >= 23) return opset == 23 ? 11 : 12;
  if (opset >= 21) return 10;
  return opset >= 19 ? 9 : 8;
}

struct Exported {
  onnx::ModelProto model;
  std::vector<ExternalTensor> external;
};

absl::Status ExportAs(int opset, const Module& module, const OnnxExportOptions& options,
                      const std::string& external_file, int64_t external_bytes, Exported* out) {
  const std::unique_ptr<Module> copy = module.Clone();
  onnx::ModelProto& model = out->model;
  model.set_ir_version(IrVersion(opset));
  model.set_producer_name("weft");
  model.add_opset_import()->set_version(opset);
  ModelWriter writer(*copy, opset, options.max_model_bytes, model.mutable_graph());
  writer.set_packs_weights(options.matmul_nbits);
  if (external_bytes >= 0) {
    writer.UseExternalData(external_file, external_bytes);
  }
  WEFT_RETURN_IF_ERROR(GraphExporter(copy.get(), &writer).ExportMain(model.mutable_graph()));
  for (const std::string& domain : writer.domains()) {
    auto* import = model.add_opset_import();
    import->set_domain(domain);
    import->set_version(1);
  }
  const auto bytes = static_cast<int64_t>(model.ByteSizeLong());
  if (bytes > std::min(options.max_model_bytes, kMaxMessage)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has ", bytes, " bytes, which pass ", "max_model_bytes"));
  }
  out->external = writer.external();
  return absl::OkStatus();
}

absl::Status Export(const Module& module, const OnnxExportOptions& options,
                    const std::string& external_file, int64_t external_bytes, Exported* out) {
  const bool lowest = options.opset == kLowestOnnxOpset;
  if (!lowest && (options.opset < kFirstOnnxOpset || options.opset > kLastOnnxOpset)) {
    return absl::InvalidArgumentError(absl::StrCat("opset must be from ", kFirstOnnxOpset, " to ",
                                                   kLastOnnxOpset, ", got ", options.opset));
  }
  if (module.main() == nullptr) {
    return absl::InvalidArgumentError("the module has no function main");
  }
  if (!lowest) {
    return ExportAs(options.opset, module, options, external_file, external_bytes, out);
  }
  absl::Status status;
  for (int opset = onnx_export::OpsetOfQuantization(module, kFirstOnnxOpset);
       opset <= kLastOnnxOpset; ++opset) {
    *out = Exported();
    status = ExportAs(opset, module, options, external_file, external_bytes, out);
    if (!absl::IsUnimplemented(status)) break;
  }
  return status;
}

int64_t ConstantBytes(const Module& module) {
  const ConstantStore& store = module.constants();
  int64_t bytes = 0;
  for (int i = 0; i < store.size(); ++i) bytes += store.tensor(i).bytes();
  return bytes;
}

absl::Status WriteExternal(const std::string& path, const std::vector<ExternalTensor>& tensors) {
  // The module's weights may be mapped from the file that is replaced: it stays until then.
  WEFT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  for (const ExternalTensor& external : tensors) {
    WEFT_RETURN_IF_ERROR(file.PadTo(external.offset));
    WEFT_RETURN_IF_ERROR(file.Write(absl::string_view(
        external.tensor.data<char>(), static_cast<size_t>(external.tensor.bytes()))));
  }
  return file.Commit();
}

absl::StatusOr<std::string> Bytes(onnx::ModelProto* model, const OnnxExportOptions& options) {
  std::string bytes =
      onnx_export::SerializeModel(model, std::min(options.max_model_bytes, kMaxMessage));
  if (!bytes.empty()) return bytes;
  return absl::ResourceExhaustedError("the model's bytes pass max_model_bytes");
}

}  // namespace

absl::StatusOr<std::string> ExportOnnx(const Module& module, const OnnxExportOptions& options) {
  Exported exported;
  WEFT_RETURN_IF_ERROR(Export(module, options, "", -1, &exported));
  return Bytes(&exported.model, options);
}

absl::Status ExportOnnxFile(const Module& module, const std::string& path,
                            const OnnxExportOptions& options) {
  int64_t external_bytes = options.external_data_bytes;
  if (external_bytes < 0 && ConstantBytes(module) > options.max_model_bytes) {
    external_bytes = kSmallTensor;
  }
  const std::string data_path = path + ".data";
  const size_t slash = data_path.rfind('/');
  Exported exported;
  WEFT_RETURN_IF_ERROR(Export(module, options,
                              slash == std::string::npos ? data_path : data_path.substr(slash + 1),
                              external_bytes, &exported));
  if (!exported.external.empty()) {
    WEFT_RETURN_IF_ERROR(WriteExternal(data_path, exported.external));
  }
  WEFT_ASSIGN_OR_RETURN(const std::string bytes, Bytes(&exported.model, options));
  return WriteFile(path, bytes);
}

}  // namespace weft
