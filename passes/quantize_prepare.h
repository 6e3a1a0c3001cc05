// Observers for the values that quantize_annotate has chosen.
//
// Each group of notes that share parameters gets one input, `observer.<k>`, that holds the state of
// its statistics and is written back, and one `observe` node for each of its values, right behind
// the value. A note under `observer` on each place names the input. The outputs of the graph and
// all values stay what they are: a calibration is an ordinary run.
//
// The state of a group in a nested graph goes in and out of the nodes around it: a loop or scan
// carries it from step to step, both branches of a cond take it and give it back. Its inputs have
// the name of the function's input everywhere.
//
// On entry the module does not write. Left alone: weights (constants, inputs with an initial value
// that are not written, what nested graphs capture of both, and with the observer min_max what is
// computed from these alone), dynamic, fixed and derived specs.
// A nested graph of another op with a place that would need an observer loses its notes, with a
// remark, and stays as it is.
//
// With fake_quantize, for training, readers that the notes name read a fake_quantize of the value,
// with a scale for the range that its observer has seen, this run included: quantize_convert takes
// it out again. Weights take the range of each run. Biases
// with derived specs stay as they are. The contract is approximate then, else bit-exact.
// Counters: observers, fake, nested (graphs that stay as they are).
#ifndef WEFT_PASSES_QUANTIZE_PREPARE_H_
#define WEFT_PASSES_QUANTIZE_PREPARE_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct QuantizePrepareOptions {
  bool fake_quantize = false;
};

std::unique_ptr<Pass> CreateQuantizePreparePass(const QuantizePrepareOptions& options);
std::unique_ptr<Pass> CreateQuantizePreparePass();

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_PREPARE_H_
