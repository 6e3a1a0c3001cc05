// How the elements of a tensor are found and decoded: what the files of
// tensor.h share. And what those share that make tensors of sizes from outside:
// how memory that runs out becomes a status.
#ifndef WEFT_GRAPH_CORE_TENSOR_INTERNAL_H_
#define WEFT_GRAPH_CORE_TENSOR_INTERNAL_H_

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/core/tensor.h"

namespace weft::internal {

// Zero-filled; null when there is not so much memory.
std::shared_ptr<HostBuffer> TryAllocateBuffer(int64_t size);

// Thrown by HostBuffer::Allocate, as containers throw std::bad_alloc.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(int64_t bytes) : what_(absl::StrCat("no memory for ", bytes, " bytes")) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// The result of `fn()`, an absl::Status or StatusOr; ResourceExhausted when memory runs out in it.
// Tensors, texts and tables whose sizes come from a file may be larger than memory: this stands
// where such input enters, so that no exception crosses a public header and none ends the process.
template <typename Fn>
auto CatchOutOfMemory(Fn&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const OutOfMemory& error) {
    return absl::ResourceExhaustedError(error.what());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory");
  } catch (const std::length_error&) {  // A container longer than any can be.
    return absl::ResourceExhaustedError("no memory");
  }
}

// Elements `start`, `start + stride`, ... of the buffer.
struct Run {
  int64_t start;
  int64_t stride;
  int64_t count;
};

struct Axis {
  int64_t size;
  int64_t stride;
};

// The axes that matter for a walk in row-major order: none of size 1, and
// neighbours joined where one stride walks both.
std::vector<Axis> JoinAxes(const HostTensor& t);

// Calls `fn(Run)` for the elements of `t` in row-major order; once for a
// contiguous tensor.
template <typename Fn>
void ForEachRun(const HostTensor& t, Fn fn) {
  if (t.numel() == 0) return;
  std::vector<Axis> axes = JoinAxes(t);
  if (axes.empty()) axes.push_back({1, 1});
  const Axis inner = axes.back();
  axes.pop_back();
  std::vector<int64_t> index(axes.size(), 0);
  int64_t start = t.offset();
  while (true) {
    fn(Run{start, inner.stride, inner.size});
    int i = static_cast<int>(axes.size()) - 1;
    for (; i >= 0; --i) {
      if (++index[i] < axes[i].size) {
        start += axes[i].stride;
        break;
      }
      start -= axes[i].stride * (axes[i].size - 1);
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

// `fn(i)` for each element index of a run. The dense case is apart, so that it
// compiles to vector code.
template <typename Fn>
void ForEachInRun(Run run, Fn fn) {
  if (run.stride == 1) {
    for (int64_t i = 0; i < run.count; ++i) fn(run.start + i);
  } else {
    for (int64_t i = 0; i < run.count; ++i) fn(run.start + i * run.stride);
  }
}

}  // namespace weft::internal

#endif  // WEFT_GRAPH_CORE_TENSOR_INTERNAL_H_
