// Faults of a routine at run time.
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "graph/tensor/tensor.h"
#include "tests/api/check/target/target_faults.h"

namespace weft {
namespace {

using Elements = std::vector<float>;

// Changes the elements of the first result, which is dense.
auto Change(std::function<void(Elements*)> change) {
  return [change = std::move(change)](const ObservedStep& seen, const Step& step) {
    const auto result = seen.read(step.results[0]);
    if (!result.ok() || result->numel() == 0) return;
    float* data = result->data<float>();
    Elements elements(data, data + result->numel());
    change(&elements);
    std::copy(elements.begin(), elements.end(), data);
  };
}

// Writes a byte at `offset` from the end of the first result's buffer, or from its begin.
auto WriteByte(bool behind, int64_t offset) {
  return [=](const ObservedStep& seen, const Step& step) {
    const auto result = seen.read(step.results[0]);
    if (!result.ok()) return;
    uint8_t* data = result->raw();
    data[behind ? result->bytes() + offset : -offset] ^= 1;
  };
}

float RoundedToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits &= 0xFFFF0000;
  std::memcpy(&x, &bits, 4);
  return x;
}

std::vector<TargetFault> ElementFaults() {
  const char* const program = kPointwiseProgram;
  std::vector<TargetFault> faults;
  faults.push_back({"one element is off by a thousandth", program, nullptr,
                    Change([](Elements* e) { e->at(e->size() / 2) *= 1.001f; })});
  faults.push_back({"the last element is not written", program, nullptr,
                    Change([](Elements* e) { e->back() = std::nanf(""); })});
  faults.push_back({"results are rounded to bf16", program, nullptr, Change([](Elements* e) {
                      for (float& x : *e) x = RoundedToBf16(x);
                    })});
  faults.push_back(
      {"results are off by 64 units in the last place", program, nullptr, Change([](Elements* e) {
         for (float& x : *e) x *= 1 + 64 * std::numeric_limits<float>::epsilon();
       })});
  faults.push_back({"NaN becomes 0", program, nullptr, Change([](Elements* e) {
                      for (float& x : *e) x = std::isnan(x) ? 0 : x;
                    })});
  faults.push_back(
      {"infinity becomes the largest number", program, nullptr, Change([](Elements* e) {
         for (float& x : *e) {
           if (std::isinf(x)) x = std::copysign(3.4e38f, x);
         }
       })});
  faults.push_back({"rows are shifted by one element", kConvolutionProgram, nullptr,
                    Change([](Elements* e) { std::rotate(e->begin(), e->begin() + 1, e->end()); }),
                    StepKind::kLibrary});
  faults.push_back({"a sum lacks a term", kLinearProgram, nullptr,
                    Change([](Elements* e) { e->at(7) += 0.01f; }), StepKind::kLibrary});
  faults.push_back({"the second image is the first", kConvolutionProgram, nullptr,
                    Change([](Elements* e) {
                      std::copy(e->begin(), e->begin() + static_cast<int64_t>(e->size()) / 2,
                                e->begin() + static_cast<int64_t>(e->size()) / 2);
                    }),
                    StepKind::kLibrary});
  auto before = std::make_shared<Elements>();
  faults.push_back(
      {"the result of the run before", kSoftmaxProgram, nullptr, Change([before](Elements* e) {
         std::swap(*e, *before);
         if (e->size() != before->size()) *e = *before;
       })});
  return faults;
}

}  // namespace

std::vector<TargetFault> MemoryFaults() {
  std::vector<TargetFault> faults = ElementFaults();
  const char* const program = kLinearProgram;
  faults.push_back({"a byte is written behind a temporary", program, nullptr, WriteByte(true, 0)});
  faults.push_back(
      {"a byte is written far behind a temporary", program, nullptr, WriteByte(true, 200)});
  faults.push_back({"a byte is written before a temporary", program, nullptr, WriteByte(false, 1)});
  faults.push_back({"a byte is written behind an output", program, nullptr, WriteByte(true, 3),
                    StepKind::kLibrary});
  faults.push_back({"a byte is written behind an input", program, nullptr,
                    [](const ObservedStep& seen, const Step& step) {
                      const auto operand = seen.read(step.args[0]);
                      if (operand.ok()) operand->raw()[operand->bytes()] ^= 1;
                    }});
  return faults;
}

}  // namespace weft
