#include "backends/cuda/routines/convolution_unit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/tile_prelude.h"
#include "backends/cuda/emit/types.h"
#include "backends/cuda/emit/wgmma_prelude.h"
#include "backends/cuda/routines/convolution_text.h"

namespace weft::cuda {
namespace {

using namespace convolution_text;

std::string WithTypes(const std::string& text, DType dtype) {
  dtype = ProductDType(dtype);
  return absl::StrReplaceAll(text, {{"TYPE", MemoryType(dtype)}, {"SUM", SumType(dtype)}});
}

std::string Define(const char* name, int value) {
  return absl::StrCat("#define ", name, " ", value, "\n");
}

// Text that reads the epilogue's operands, each by its name in w_operands.
std::string ReadOperands(int operands) {
  std::string text = "#define W_READ_OPERANDS";
  for (int o = 0; o < operands; ++o) {
    absl::StrAppend(&text, " W_READ_OPERAND(", o, ", operands.e", o, ")");
  }
  return text + "\n";
}

std::string BeginUnit(const ConvolutionForm& form, const ConvolutionEpilogue& epilogue, int part) {
  return absl::StrCat(
      Prelude(), epilogue.text, ReadOperands(epilogue.operands), OperandsText(form.operands),
      "#define W_INDEX ", form.wide ? "i64" : "i32", "\n", Define("W_TRANSPOSED", form.transposed),
      Define("W_CHANNELS_FIRST", form.channels_first), Define("W_POINTS", form.points),
      Define("W_FIRST", 3 - form.dims), Define("W_PART", part));
}

}  // namespace

int ConvolutionTile::shared_bytes() const {
  const int tiles = stages * (rows + columns) * depth * 2;
  const int staged = rows * (columns + 8) * 4;
  return 1024 + std::max(tiles, staged);
}

std::string ConvolutionUnit(const ConvolutionForm& form, const ConvolutionEpilogue& epilogue) {
  const ConvolutionTile& tile = form.tile;
  std::string text = BeginUnit(form, epilogue, ConvolutionGroup(form.operands.left));
  absl::StrAppend(&text, Define("W_ROWS", tile.rows), Define("W_COLUMNS", tile.columns),
                  Define("W_DEPTH", tile.depth), Define("W_STAGES", tile.stages),
                  Define("W_THREADS", tile.threads()), Define("W_BLOCKS", tile.blocks));
  if (form.kind == ConvolutionKind::kWgmma) {
    absl::StrAppend(&text, TilePrelude(), WgmmaPrelude(tile.columns), kSizes, kPlaces, kResults,
                    kWgmma, kSum);
    return WithTypes(text, form.operands.left);
  }
  const bool tensor = form.kind == ConvolutionKind::kTensor;
  absl::StrAppend(&text, "#define W_ELEMENT ",
                  !tensor                 ? "SUM"
                  : form.operands.bytes() ? "u8"
                                          : "u16",
                  "\n", Define("W_CHANNEL_GROUPS", form.channel_groups),
                  Define("W_WARPS_DOWN", tile.warps_down),
                  Define("W_WARPS_ACROSS", tile.warps_across), Define("W_PIECE", tile.piece),
                  tensor ? ZeroSumsText() + kTensorDefinitions : kPlainDefinitions, kSizes, kPlaces,
                  kZeros, kResults);
  absl::StrAppend(&text, kLoads, kLoopBegin, tensor ? kTensorProducts : kPlainProducts, kLoopEnd,
                  tensor ? kTensorStore : kPlainStore, kSum);
  return WithTypes(text, form.operands.left);
}

std::string ConvolutionPackUnit(DType dtype, bool transposed, bool channels_first) {
  const std::string text =
      absl::StrCat(Prelude(), Define("W_OPERANDS", 0), Define("W_TRANSPOSED", transposed),
                   Define("W_CHANNELS_FIRST", channels_first), kSizes, kPack);
  return absl::StrReplaceAll(text, {{"TYPE", MemoryType(dtype)}});
}

std::string DirectConvolutionUnit(const ConvolutionForm& form,
                                  const ConvolutionEpilogue& epilogue) {
  return WithTypes(
      absl::StrCat(BeginUnit(form, epilogue, 1), kSizes, kPlaces, kZeros, kResults, kDirect),
      form.operands.left);
}

std::string DepthwiseConvolutionUnit(const ConvolutionForm& form, int taps, int stride,
                                     const ConvolutionEpilogue& epilogue) {
  return WithTypes(absl::StrCat(BeginUnit(form, epilogue, DepthwiseGroup(form.operands.left)),
                                Define("W_TAPS", taps), Define("W_STRIDE", stride),
                                Define("W_ALONG", kDepthwisePoints), kSizes, kPlaces, kZeros,
                                kResults, kDepthwise),
                   form.operands.left);
}

}  // namespace weft::cuda
