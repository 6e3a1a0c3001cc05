// What the emulated NVRTC gives as a cubin: a mark, the length of a shared library, and its bytes.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_IMAGE_H_
#define WEFT_BACKENDS_CUDA_EMULATE_IMAGE_H_

#include <cstdint>
#include <string>

namespace weft::cuda::emulate {

// Behind it follow the length, 8 bytes, and the library.
inline constexpr char kImageMark[] = "weft emulated kernels\n";

std::string MakeImage(const std::string& library);
// Loads the library of an image, which must be complete if it begins with the mark. Null if it is
// not an image or cannot be loaded. The handle is one of dlopen.
void* LoadImage(const char* image);

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_IMAGE_H_
