// quantize: post-training quantization of a model.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/calibration_data.h"
#include "api/inspect/graph_view.h"
#include "api/inspect/layer_report.h"
#include "api/model_io.h"
#include "api/quantize/quantizer.h"
#include "api/test_data.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/logs.h"
#include "tools/common/models.h"
#include "tools/common/progress.h"

namespace weft::tools {
namespace {

struct Options {
  QuantizeOptions quantize;
  std::string calibration;
  int64_t batches = 0;
  std::string save_state;
  std::string resume;
  std::string output;
  int64_t opset = -1;
  bool matmul_nbits = false;
  std::string report;
  std::string log;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("quantize", "[flags] -o OUT MODEL",
                "Quantizes a model (.onnx, .pt2, .weft or .weftb) after training and says what\n"
                "became of each op. Exit status 2, and no file, when nothing was quantized.\n\n"
                "  quantize --policy=x86 --calibration=data.npz -o model.int8.onnx model.onnx\n"
                "  quantize --policy='weight_only{bits=4,group=32}' --matmul-nbits\n"
                "      -o model.int4.onnx model.onnx\n"
                "  quantize --calibration=batches --save-state=s.weft -o out.weft model.pt2\n"
                "  quantize --calibration=batches --resume=s.weft -o out.weft model.pt2");
  flags.Section("What is quantized");
  flags.String("policy", &o->quantize.policy, "POLICY",
               "x86, symmetric, dynamic, weight_only{bits=4,group=32}, weight_only_hqq, f8,\n"
               "or a file with a policy (its name has a '.' or '/'). Default: x86");
  flags.Repeated("exclude", &o->quantize.exclude, "NAME",
                 "Nodes that stay as they are: the name of a source node, with * for any\n"
                 "text, or an op");
  flags.String("observer", &o->quantize.observer, "OBSERVER",
               "Observer of all activations, as min_max or histogram. Default: the policy's");
  flags.Bool("equalize", &o->quantize.equalize,
             "Scale weights so that the channels between products are equally large, for\n"
             "models whose channels have ranges far apart");
  flags.Bool("smooth", &o->quantize.smooth,
             "Move scales between activations and weights where the error of the products\n"
             "falls on the first batches: SmoothQuant, or AWQ for weights alone");
  flags.Bool("gptq", &o->quantize.gptq,
             "Choose the codes of weights so that errors make up for each other on the\n"
             "last batches");
  flags.Double("budget", &o->quantize.budget_db, "DB",
               "Keep layers in float so that the outputs have this ratio of signal to noise\n"
               "in dB. Each layer is tried alone. Default: none is kept");
  flags.Bool("bias-correction", &o->quantize.bias_correction,
             "Take the mean error off the biases of convolutions, linears and matmuls.\n"
             "Default: on");
  flags.Section("Calibration");
  flags.String("calibration", &o->calibration, "DATA",
               "A .npz file with an array for each input, a .npy file for the only\n"
               "input, a folder of them (one batch a file, by name), or seeded:N for\n"
               "N random batches");
  flags.IntBetween("batches", &o->batches, 0, int64_t{1} << 40, "N",
                   "At most so many batches. Default: all");
  flags.String("target", &o->quantize.target, "TARGET", "Runs the model. Default: cpu");
  flags.String("save-state", &o->save_state, "FILE.weft",
               "Write the statistics every ten seconds and behind the last batch, so that an\n"
               "interrupted run can go on");
  flags.String("resume", &o->resume, "FILE.weft",
               "Go on with these statistics, behind the batches that they have seen");
  flags.Section("Output");
  flags.String("o", &o->output, "FILE", "The quantized model, .onnx or .weft");
  flags.IntBetween("opset", &o->opset, FirstOnnxOpset(), LastOnnxOpset(), "N",
                   "Of ONNX. Default: the lowest that serves");
  flags.Bool("matmul-nbits", &o->matmul_nbits,
             "Write products with weights in blocks as com.microsoft MatMulNBits, which\n"
             "ONNX Runtime alone reads");
  flags.String("report", &o->report, "FILE", "Errors by layer: a page (.html) or .json");
  AddLogFlag(flags, &o->log);
  return flags;
}

absl::Status NeedsData(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      what, " needs data: --calibration=FILE, or --calibration=seeded:8 for random inputs"));
}

absl::Status CheckOptions(const Options& o, const std::vector<std::string>& positional) {
  if (positional.size() != 1) {
    return absl::InvalidArgumentError("expected one model file; --help shows how");
  }
  if (!absl::EndsWith(o.output, ".onnx") && !absl::EndsWith(o.output, ".weft")) {
    return absl::InvalidArgumentError(
        absl::StrCat("-o takes a .onnx or .weft file, not \"", o.output, "\""));
  }
  const bool known = absl::EndsWith(o.report, ".html") || absl::EndsWith(o.report, ".json");
  if (!o.report.empty() && !known) {
    return absl::InvalidArgumentError(
        absl::StrCat("--report takes a .html or .json file, not \"", o.report, "\""));
  }
  for (const auto& [flag, path] :
       {std::pair<const char*, const std::string&>("save-state", o.save_state),
        {"resume", o.resume}}) {
    if (path.empty() || absl::EndsWith(path, ".weft")) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " takes a .weft file, not \"", path, "\""));
  }
  if (!(o.quantize.budget_db >= 0) || std::isinf(o.quantize.budget_db)) {
    return absl::InvalidArgumentError("--budget takes a number of decibels above 0");
  }
  if (!o.calibration.empty()) return absl::OkStatus();
  if (o.quantize.smooth && o.resume.empty()) return NeedsData("--smooth");
  if (o.quantize.gptq) return NeedsData("--gptq");
  return o.quantize.budget_db > 0 ? NeedsData("--budget") : absl::OkStatus();
}

// The text of a policy file in place of its name; what the output's format asks for.
absl::StatusOr<QuantizeOptions> ReadOptions(const Options& o) {
  QuantizeOptions options = o.quantize;
  options.integer_biases = absl::EndsWith(o.output, ".onnx");
  const bool is_file = options.policy.find('{') == std::string::npos &&
                       options.policy.find_first_of("./") != std::string::npos;
  if (!is_file) return options;
  WEFT_ASSIGN_OR_RETURN(const auto file, HostBuffer::MapFile(ResolvePath(options.policy)));
  options.policy.assign(reinterpret_cast<const char*>(file->data()),
                        static_cast<size_t>(file->size()));
  return options;
}

// The first line of a file with statistics, before the prepared module.
constexpr char kStateHead[] = "// quantize: ";

std::string StateHead(const Options& o, int64_t batches) {
  return absl::StrCat(kStateHead, batches, " batches, policy ", o.quantize.policy, "\n");
}

// The batches that the statistics have seen. FailedPrecondition for those of another policy.
absl::StatusOr<int64_t> BatchesOfState(const Options& o) {
  if (o.resume.empty()) return 0;
  WEFT_ASSIGN_OR_RETURN(const auto file, HostBuffer::MapFile(ResolvePath(o.resume)));
  const absl::string_view text(reinterpret_cast<const char*>(file->data()),
                               static_cast<size_t>(file->size()));
  absl::string_view head = text.substr(0, text.find('\n'));
  int64_t batches = 0;
  const bool is_state = absl::ConsumePrefix(&head, kStateHead) &&
                        absl::SimpleAtoi(head.substr(0, head.find(' ')), &batches) && batches >= 0;
  if (!is_state) {
    return absl::InvalidArgumentError(
        absl::StrCat(o.resume, " was not written by quantize --save-state"));
  }
  if (absl::StartsWith(text, StateHead(o, batches))) return batches;
  return absl::FailedPreconditionError(
      absl::StrCat(o.resume, " has statistics for another policy: ", head));
}

std::string DataPath(const std::string& source) {
  return absl::StartsWith(source, "seeded:") ? source : ResolvePath(source);
}

// The first batches, where scales are moved.
absl::Status ReadSamples(const Options& o, const Module& model, QuantizeOptions* options) {
  constexpr int kSamples = 4;
  if (!options->smooth || o.calibration.empty()) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(auto data, CalibrationData::Open(DataPath(o.calibration), *model.main()));
  for (int64_t i = 0; i < kSamples && (o.batches == 0 || i < o.batches); ++i) {
    WEFT_ASSIGN_OR_RETURN(auto inputs, data.Next());
    if (!inputs) break;
    options->samples.push_back(*std::move(inputs));
  }
  return absl::OkStatus();
}

absl::StatusOr<Quantizer> MakeQuantizer(const Options& o, const Module& model) {
  WEFT_ASSIGN_OR_RETURN(QuantizeOptions options, ReadOptions(o));
  if (o.resume.empty()) {
    WEFT_RETURN_IF_ERROR(ReadSamples(o, model, &options));
    return Quantizer::Create(model.Clone(), options);
  }
  WEFT_ASSIGN_OR_RETURN(auto prepared, LoadShown(o.resume, LoadOptions()));
  return Quantizer::Resume(std::move(prepared), options);
}

absl::StatusOr<std::optional<CalibrationData>> OpenData(const Options& o, const Graph& graph) {
  if (o.calibration.empty()) return std::nullopt;
  return CalibrationData::Open(DataPath(o.calibration), graph);
}

// Writes statistics now and then, and at the end.
class StateFile {
 public:
  explicit StateFile(const Options& o) : options_(o) {}

  absl::Status AfterBatch(const Quantizer& quantizer, int64_t batches) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kEvery) return absl::OkStatus();
    last_ = now;
    return Write(quantizer, batches);
  }

  absl::Status Write(const Quantizer& quantizer, int64_t batches) {
    if (options_.save_state.empty()) return absl::OkStatus();
    WEFT_ASSIGN_OR_RETURN(const auto module, quantizer.module());
    WEFT_ASSIGN_OR_RETURN(const std::string text, Emit(*module, EmitFormat::kText));
    return WriteOutput(options_.save_state, absl::StrCat(StateHead(options_, batches), text));
  }

 private:
  static constexpr std::chrono::seconds kEvery{10};
  const Options& options_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// The batches behind the `seen` ones; how many the statistics have seen then.
absl::StatusOr<int64_t> Calibrate(const Options& o, int64_t seen, CalibrationData* data,
                                  Quantizer* quantizer) {
  ProgressLine progress("calibration");
  StateFile state(o);
  int64_t batches = 0;
  for (; o.batches == 0 || batches < o.batches; ++batches) {
    WEFT_ASSIGN_OR_RETURN(auto inputs, data->Next());
    if (!inputs) break;
    progress.Show(data->part(), data->num_parts());
    if (batches < seen) continue;
    WEFT_RETURN_IF_ERROR(quantizer->Calibrate(*inputs));
    WEFT_RETURN_IF_ERROR(state.AfterBatch(*quantizer, batches + 1));
  }
  batches = std::max(batches, seen);
  WEFT_RETURN_IF_ERROR(state.Write(*quantizer, batches));
  progress.Clear();
  std::cout << "calibrated with " << batches << (batches == 1 ? " batch" : " batches");
  if (seen > 0) std::cout << ", " << seen << " of them before";
  std::cout << "\n";
  if (data->is_seeded()) {
    std::cout << "WARNING: the batches are random: ranges of activations and errors say nothing "
                 "about real data\n";
  }
  return batches;
}

LayerReport MakeReport(const Options& o, const std::string& model, int64_t batches,
                       const QuantizedModel& quantized) {
  LayerReport report;
  report.title = absl::StrCat("Quantization of ", model);
  int64_t before = 0;
  int64_t after = 0;
  for (const QuantizedNode& node : quantized.nodes) {
    LayerRow row;
    row.name = node.name;
    row.op = node.op;
    row.state = node.quantized ? "quantized" : "float";
    row.reason = node.reason;
    row.sqnr_db = node.sqnr_db;
    row.cosine = node.cosine;
    row.bytes_before = node.weight_bytes_before;
    row.bytes_after = node.weight_bytes_after;
    before += node.weight_bytes_before;
    after += node.weight_bytes_after;
    report.rows.push_back(std::move(row));
  }
  const bool random = absl::StartsWith(o.calibration, "seeded:");
  report.facts = {
      {"policy", o.quantize.policy},
      {"quantized", absl::StrCat(quantized.num_quantized(), " of ", quantized.nodes.size())},
      {"weights", absl::StrCat(before, " bytes, now ", after)},
      {"batches", absl::StrCat(batches, random ? " (random)" : "")},
  };
  return report;
}

// The quantized model, its nodes coloured by their error.
absl::StatusOr<std::string> Picture(const LayerReport& report, const Module& module) {
  GraphRecorder recorder(report.title);
  const absl::Status status = recorder.Start(module);
  // Too large for a picture: the table stands alone.
  if (absl::IsResourceExhausted(status)) return std::string();
  WEFT_RETURN_IF_ERROR(status);
  for (const LayerRow& row : report.rows) recorder.AddError(row.name, row.sqnr_db);
  return recorder.Html();
}

absl::Status WriteReport(const Options& o, const LayerReport& report, const Module& module) {
  if (o.report.empty()) return absl::OkStatus();
  if (absl::EndsWith(o.report, ".json")) return WriteText(o.report, ToJson(report));
  WEFT_ASSIGN_OR_RETURN(const std::string picture, Picture(report, module));
  return WriteOutput(o.report, ToHtml(report, picture));
}

// The reasons why nodes stayed as they were, each with how often.
absl::Status NothingQuantized(const QuantizedModel& model) {
  std::vector<std::pair<std::string, int64_t>> reasons;
  for (const QuantizedNode& node : model.nodes) {
    const std::string reason = absl::StrCat(node.op, ": ", node.reason);
    auto at = std::find_if(reasons.begin(), reasons.end(),
                           [&](const auto& known) { return known.first == reason; });
    if (at == reasons.end()) at = reasons.insert(at, {reason, 0});
    ++at->second;
  }
  std::string text = "nothing was quantized";
  for (const auto& [reason, count] : reasons) absl::StrAppend(&text, "\n", count, "x ", reason);
  if (reasons.empty()) text += ": the model has no op that the policy knows";
  return absl::FailedPreconditionError(text);
}

// Sessions and modules follow one another, each with weights of its own. From this size on they
// have pages of their own, which the system has back at once, so that they leave no holes in the
// heap; glibc would take larger and larger blocks from the heap as such are freed.
void KeepWeightsOutOfHeap() {
  constexpr int kBytes = 4 << 20;
  mallopt(M_MMAP_THRESHOLD, kBytes);
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  WEFT_ASSIGN_OR_RETURN(const bool help, StartLogs(o.log));
  if (help) return kExitOk;
  KeepWeightsOutOfHeap();
  WEFT_RETURN_IF_ERROR(CheckOptions(o, positional));
  WEFT_ASSIGN_OR_RETURN(const auto model, LoadShown(positional[0], LoadOptions()));
  if (model->main() == nullptr) return absl::InvalidArgumentError("the model has no @main");
  // Before long work.
  WEFT_ASSIGN_OR_RETURN(auto data, OpenData(o, *model->main()));
  WEFT_ASSIGN_OR_RETURN(int64_t batches, BatchesOfState(o));
  WEFT_ASSIGN_OR_RETURN(Quantizer quantizer, MakeQuantizer(o, *model));
  if (data) {
    WEFT_ASSIGN_OR_RETURN(batches, Calibrate(o, batches, &*data, &quantizer));
  } else if (quantizer.needs_calibration() && batches == 0) {
    return NeedsData(absl::StrCat("the policy ", o.quantize.policy));
  }
  WEFT_ASSIGN_OR_RETURN(const QuantizedModel quantized, quantizer.Finish());
  for (const std::string& decision : quantized.decisions) std::cout << decision << "\n";
  const LayerReport report = MakeReport(o, positional[0], batches, quantized);
  std::cout << ToTable(report);
  for (const auto& [name, value] : report.facts) std::cout << name << ": " << value << "\n";
  if (quantized.num_quantized() == 0) return NothingQuantized(quantized);
  SaveOptions save;
  save.opset = static_cast<int>(o.opset);
  save.matmul_nbits = o.matmul_nbits;
  WEFT_RETURN_IF_ERROR(SaveModel(*quantized.module, ResolvePath(o.output), save));
  WEFT_RETURN_IF_ERROR(WriteReport(o, report, *quantized.module));
  return kExitOk;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
