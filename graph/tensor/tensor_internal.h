// Finds and decodes the elements of a tensor: declarations shared by the files that implement
// tensor.h.
#ifndef WEFT_GRAPH_TENSOR_TENSOR_INTERNAL_H_
#define WEFT_GRAPH_TENSOR_TENSOR_INTERNAL_H_

#include <cstdint>
#include <vector>

#include "graph/tensor/tensor.h"

namespace weft::internal {

// The elements at `start`, `start + stride`, ... of the buffer.
struct Run {
  int64_t start;
  int64_t stride;
  int64_t count;
};

struct Axis {
  int64_t size;
  int64_t stride;
};

// The axes of a walk in row-major order, simplified: axes of size 1 are dropped, and neighbours are
// joined if one stride walks both.
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

// Calls `fn(i)` for each element index of a run. The dense case is separate, so that it compiles to
// vector code.
template <typename Fn>
void ForEachInRun(Run run, Fn fn) {
  if (run.stride == 1) {
    for (int64_t i = 0; i < run.count; ++i) fn(run.start + i);
  } else {
    for (int64_t i = 0; i < run.count; ++i) fn(run.start + i * run.stride);
  }
}

}  // namespace weft::internal

#endif  // WEFT_GRAPH_TENSOR_TENSOR_INTERNAL_H_
