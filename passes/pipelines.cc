// The tables of passes and named pipelines; no other file composes passes.
#include "passes/pipelines.h"

#include "passes/assume_sizes.h"
#include "passes/autocast.h"
#include "passes/canonicalize.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/decompose.h"
#include "passes/drop_constants.h"
#include "passes/equalize_channels.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/fold_scales.h"
#include "passes/freeze.h"
#include "passes/functionalize.h"
#include "passes/fuse_attention.h"
#include "passes/fuse_concat.h"
#include "passes/fuse_epilogue.h"
#include "passes/fuse_horizontal.h"
#include "passes/fuse_nbits.h"
#include "passes/fuse_quantized.h"
#include "passes/fuse_reduction.h"
#include "passes/fuse_vertical.h"
#include "passes/propagate_shapes.h"
#include "passes/quantize_annotate.h"
#include "passes/quantize_convert.h"
#include "passes/quantize_finish.h"
#include "passes/quantize_prepare.h"
#include "passes/reinplace.h"
#include "passes/specialize_symbols.h"
#include "passes/train_batch_norm.h"

namespace weft {
namespace {

constexpr std::unique_ptr<Pass> (*kPasses[])() = {
    CreateAssumeSizesPass,
    CreateAutocastPass,
    CreateCanonicalizePass,
    CreateCsePass,
    CreateDcePass,
    CreateDecomposePass,
    CreateDropConstantsPass,
    CreateEqualizeChannelsPass,
    CreateFoldBatchNormPass,
    CreateFoldConstantsPass,
    CreateFoldScalesPass,
    CreateFreezePass,
    CreateFunctionalizePass,
    CreateFuseAttentionPass,
    CreateFuseConcatPass,
    CreateFuseEpiloguePass,
    CreateFuseHorizontalPass,
    CreateFuseNbitsPass,
    CreateFuseQuantizedPass,
    CreateFuseReductionPass,
    CreateFuseVerticalPass,
    CreatePropagateShapesPass,
    CreateQuantizeAnnotatePass,
    CreateQuantizeConvertPass,
    CreateQuantizeFinishPass,
    CreateQuantizePreparePass,
    CreateReinplacePass,
    CreateSpecializeSymbolsPass,
    CreateTrainBatchNormPass,
};

struct PipelineRow {
  const char* name;
  const char* doc;
  const char* text;
};

constexpr PipelineRow kPipelines[] = {
    {"none", "Leaves the module as it is.", ""},
    {"default", "What every target wants; changes no value.",
     "functionalize,dce,fixpoint(propagate_shapes,canonicalize,fold_constants,cse,dce)"},
    {"fuse", "Groups for kernels, the largest kinds first.",
     "fuse_attention{admit=reassociating},fuse_horizontal{groups=false},fuse_epilogue,"
     "fuse_reduction,fuse_vertical,fuse_concat,"
     "fuse_horizontal{products=false},cse,dce"},
    {"quantize-float",
     "What a float module is made before its values are chosen for quantization or autocast: "
     "parameters are constants, batch norms are in the weights.",
     "default,freeze{admit=reassociating},fixpoint(canonicalize,fold_constants,cse,dce)"},
    {"quantize-finish", "From a calibrated module with observers to a quantized one.",
     "quantize_convert{admit=approximate},quantize_finish,dce,drop_constants"},
    {"quantize-train",
     "A program for training that computes with what the policy x86 will leave of values and "
     "weights; quantize-float and quantize-finish come after it.",
     "default,fold_batch_norm{admit=reassociating},fixpoint(canonicalize,cse,dce),"
     "quantize_annotate{observer=moving_average},"
     "quantize_prepare{fake_quantize=true,admit=approximate}"},
    {"quantize-train-batches",
     "The same where batch norms take the statistics of batches and running ones follow.",
     "default,fold_batch_norm{keep,admit=reassociating},fixpoint(canonicalize,cse,dce),"
     "quantize_annotate{observer=moving_average},"
     "quantize_prepare{fake_quantize=true,admit=approximate},"
     "train_batch_norm{admit=approximate}"},
    {"autocast-bf16",
     "Inference in bf16 where PyTorch's autocast for CPUs computes in it; before the pipeline of a "
     "target.",
     "quantize-float,autocast{admit=approximate},fixpoint(canonicalize,fold_constants,cse,dce)"},
    {"autocast-f16",
     "The same in f16, except for functions, norms and sums that overflow in it: those of "
     "PyTorch's "
     "lists for CUDA stay f32.",
     "quantize-float,autocast{dtype=f16,lists=cuda,admit=approximate},"
     "fixpoint(canonicalize,fold_constants,cse,dce)"},
    {"cpu",
     "Inference on a CPU: parameters are constants, and what one kernel can "
     "compute is one node. Sums may be added up in another order.",
     "functionalize,dce,quantize_finish,fuse_quantized{admit=reassociating},"
     "fuse_nbits{admit=reassociating},"
     "default,freeze{admit=reassociating},fuse_nbits{admit=reassociating},"
     "fixpoint(canonicalize,fold_constants{max_growth=2,widen_floats},cse,dce),"
     "freeze{admit=reassociating},decompose{admit=reassociating},"
     "fixpoint(canonicalize,fold_constants{max_growth=2,widen_floats},cse,dce),"
     "fold_scales{admit=reassociating},fuse,drop_constants"},
};

}  // namespace

const PassRegistry& BuiltinPasses() {
  static const PassRegistry& registry = *[] {
    auto* built = new PassRegistry;
    for (auto* factory : kPasses) built->Add(factory);
    for (const PipelineRow& row : kPipelines) {
      built->AddPipeline({row.name, row.doc, row.text});
    }
    return built;
  }();
  return registry;
}

}  // namespace weft
