// The models that examples and tests compile: files beside this folder, written
// by //examples/exported:make_models.
#ifndef WEFT_EXAMPLES_EXPORTED_MODELS_H_
#define WEFT_EXAMPLES_EXPORTED_MODELS_H_

#include <string>

namespace weft::examples {

// A small ResNet with its batch normalizations unfused: image
// f32[batch, 3, 64, 64] to logits f32[batch, 10].
std::string ResNetModel();

// A two-layer encoder as an exporter writes one, with what exporters leave
// behind (identities, repeated constants, chains of casts, pairs of
// transposes): tokens and mask i64[batch, sequence], sequence <= 64, to the
// hidden state f32[batch, sequence, 64] and a pooled vector f32[batch, 64].
std::string TransformerModel();

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_EXPORTED_MODELS_H_
