#include "api/model_io.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/inspect/graph_view.h"
#include "api/inspect/kernel_source.h"
#include "api/version.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/out_of_memory.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/guards.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/target/target_text.h"
#include "graph/text/text.h"
#include "lowering/lower.h"
#include "lowering/plan_memory_text.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "profiler/record.h"
#include "serialize/dot/dot.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_module.h"
#include "serialize/logs.h"
#include "serialize/npy/npy.h"
#include "serialize/onnx/export/export.h"
#include "serialize/onnx/import/onnx.h"
#include "serialize/pt2/pt2.h"

namespace weft {
namespace {

absl::StatusOr<std::unique_ptr<Module>> LoadText(const std::string& path,
                                                 const LoadOptions& options) {
  WEFT_ASSIGN_OR_RETURN(auto file, HostBuffer::MapFile(path));
  const absl::string_view text(reinterpret_cast<const char*>(file->data()), file->size());
  return LoadModelText(text, path, options);
}

absl::StatusOr<std::unique_ptr<Module>> LoadOnnx(const std::string& path,
                                                 const LoadOptions& options) {
  OnnxImportOptions import;
  import.registry = options.ops;
  import.input_values = options.input_values;
  import.positional_values = options.positional_values;
  import.progress = options.progress;
  auto module = ImportOnnx(path, import);
  if (!module.ok()) {
    if (absl::StrContains(module.status().message(), path)) return module;
    return Annotate(module.status(), path);
  }
  return module;
}

absl::StatusOr<std::unique_ptr<Module>> LoadPt2(const std::string& path,
                                                const LoadOptions& options) {
  Pt2ImportOptions import;
  import.registry = options.ops;
  import.parameters_as_inputs = options.parameters_as_inputs;
  import.progress = options.progress;
  return ImportPt2(path, import);
}

absl::StatusOr<std::unique_ptr<Module>> LoadBinary(const std::string& path,
                                                   const LoadOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const auto file, WeftbFile::Open(path));
  return ReadModuleFromWeftb(*file, options.ops == nullptr ? ops::Registry() : *options.ops);
}

absl::Status SaveBinary(const Module& module, const std::string& path) {
  WeftbBuilder builder;
  builder.producer = absl::StrCat("weft ", kVersion);
  WEFT_RETURN_IF_ERROR(Annotate(AddModuleToWeftb(module, {}, &builder), path));
  return builder.Write(path);
}

absl::StatusOr<std::string> PrintPlans(const Module& module, const Target& target) {
  std::string text;
  for (const auto& function : module.functions()) {
    WEFT_ASSIGN_OR_RETURN(auto plan, Lower(*function, target));
    WEFT_RETURN_IF_ERROR(VerifyPlan(plan));
    absl::StrAppend(&text, text.empty() ? "" : "\n", PrintPlan(plan));
    const absl::StatusOr<std::string> memory = DescribeMemory(plan);
    absl::StrAppend(&text, memory.ok()
                               ? *memory
                               : absl::StrCat("// memory: ", memory.status().message(), "\n"));
  }
  return text;
}

// NumPy has neither bf16 nor 8-bit floats: writers store their bits as unsigned integers.
absl::StatusOr<HostTensor> AsStored(HostTensor tensor, DType expected) {
  const bool lacked = IsFloat(expected) && (expected == DType::kBF16 || DTypeBits(expected) == 8);
  if (!lacked || !IsUnsignedInt(tensor.dtype()) ||
      DTypeBits(tensor.dtype()) != DTypeBits(expected)) {
    return tensor;
  }
  const HostTensor dense = tensor.Contiguous();
  return HostTensor::View(dense.buffer(), expected, dense.dims(), {}, dense.offset());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> LoadModelText(absl::string_view text,
                                                      const std::string& name,
                                                      const LoadOptions& options) {
  const OpRegistry& ops = options.ops == nullptr ? ops::Registry() : *options.ops;
  auto module = CatchOutOfMemory([&] { return ParseModule(text, ops, name); });
  if (module.status().code() != absl::StatusCode::kResourceExhausted ||
      absl::StrContains(module.status().message(), name)) {
    return module;
  }
  return absl::ResourceExhaustedError(absl::StrCat(name, ": ", module.status().message()));
}

absl::StatusOr<std::unique_ptr<Module>> LoadModel(const std::string& path,
                                                  const LoadOptions& options) {
  const profiler::Scope scope(profiler::Activity::kCompilerPass, "import");
  Log(import_log, absl::StrCat("reading ", path));
  if (absl::EndsWith(path, ".onnx")) return LoadOnnx(path, options);
  if (absl::EndsWith(path, ".pt2")) return LoadPt2(path, options);
  if (absl::EndsWith(path, ".weft")) return LoadText(path, options);
  if (absl::EndsWith(path, ".weftb")) return LoadBinary(path, options);
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": unknown kind of model; .onnx, .pt2, .weft and .weftb files are read"));
}

int FirstOnnxOpset() { return kFirstOnnxOpset; }
int LastOnnxOpset() { return kLastOnnxOpset; }

namespace {

OnnxExportOptions OnnxOptions(const SaveOptions& save) {
  OnnxExportOptions options;
  options.opset = save.opset < 0 ? kLowestOnnxOpset : save.opset;
  options.matmul_nbits = save.matmul_nbits;
  return options;
}

}  // namespace

std::optional<EmitFormat> ParseEmitFormat(absl::string_view name) {
  if (name == "text") return EmitFormat::kText;
  if (name == "dot") return EmitFormat::kDot;
  if (name == "svg") return EmitFormat::kSvg;
  if (name == "html") return EmitFormat::kHtml;
  if (name == "model-explorer") return EmitFormat::kModelExplorer;
  if (name == "onnx") return EmitFormat::kOnnx;
  if (name == "plan") return EmitFormat::kPlan;
  if (name == "cc") return EmitFormat::kCc;
  if (name == "target") return EmitFormat::kTarget;
  if (name == "guards") return EmitFormat::kGuards;
  return std::nullopt;
}

absl::StatusOr<std::string> Emit(const Module& module, EmitFormat format, const Target* target,
                                 const SaveOptions& save) {
  if (target == nullptr) target = &(*BuiltinBackends().Find("cpu"))->target();
  switch (format) {
    case EmitFormat::kText:
      return PrintModule(module);
    case EmitFormat::kDot:
      return ToDot(module);
    case EmitFormat::kSvg:
      return DotToSvg(ToDot(module));
    case EmitFormat::kHtml:
    case EmitFormat::kModelExplorer: {
      GraphRecorder picture("");
      WEFT_RETURN_IF_ERROR(picture.Start(module));
      return format == EmitFormat::kHtml ? picture.Html() : picture.ModelExplorer();
    }
    case EmitFormat::kOnnx:
      return ExportOnnx(module, OnnxOptions(save));
    case EmitFormat::kPlan:
      return PrintPlans(module, *target);
    case EmitFormat::kCc:
      return KernelSource(module, *target);
    case EmitFormat::kTarget:
      return PrintTarget(*target);
    case EmitFormat::kGuards: {
      if (module.functions().empty()) return std::string();
      const Graph& main = module.main() != nullptr ? *module.main() : *module.functions()[0];
      return MinimizeGuards(module.symbols()).ToString(SourcesOf(main));
    }
  }
  return absl::InternalError("unknown format");
}

absl::Status SaveModel(const Module& module, const std::string& path, const SaveOptions& save) {
  if (absl::EndsWith(path, ".onnx")) return ExportOnnxFile(module, path, OnnxOptions(save));
  if (absl::EndsWith(path, ".weftb")) return SaveBinary(module, path);
  if (!absl::EndsWith(path, ".weft")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": unknown kind of model; .onnx, .weft and .weftb files are written"));
  }
  return WriteFile(path, PrintModule(module));
}

absl::StatusOr<HostTensor> LoadTensor(const std::string& path, std::optional<DType> expected) {
  if (absl::EndsWith(path, ".npy")) {
    auto tensor = ReadNpy(path);
    if (!tensor.ok() || !expected) return tensor;
    return AsStored(*std::move(tensor), *expected);
  }
  if (absl::EndsWith(path, ".pb")) return LoadTensorProto(path, expected);
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": unknown kind of tensor; .npy and .pb files are read"));
}

absl::Status SaveTensor(const std::string& path, const HostTensor& tensor) {
  return WriteNpy(path, tensor);
}

}  // namespace weft
