#include "base/annotate.h"

#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(AnnotateTest, KeepsTheCodeAndSaysWhere) {
  const absl::Status status = Annotate(absl::NotFoundError("no weights"), "model.onnx");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "model.onnx: no weights");
}

TEST(AnnotateTest, TheOuterPlaceComesFirst) {
  const absl::Status inner = Annotate(absl::InternalError("broken"), "node 3");
  EXPECT_EQ(Annotate(inner, "@main").message(), "@main: node 3: broken");
}

TEST(AnnotateTest, OkStaysOk) { EXPECT_TRUE(Annotate(absl::OkStatus(), "here").ok()); }

}  // namespace
}  // namespace weft
