// Batches for calibration: names, shapes, files, seeds.
#include "api/calibration_data.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "serialize/npy/npy.h"
#include "tests/serialize/pt2/zip_writer.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kOneInput[] = R"(
func @main(%w: f32[2] {param="w", initial=dense<[1.0, 2.0]>}, %x: f32[1, 2]) {
  %0 = mul(%x, %w)
  return %0
})";

constexpr char kTwoInputs[] = R"(
func @main(%x: f32[n, 2], %mask: i64[n]) {
  return %x, %mask
})";

// Written by numpy.savez and savez_compressed (x=[[1, 2], [3, 4]]), as f32.
constexpr char kStored[] =
    "UEsDBC0AAAAAAAAAIQBO+yB1//////////8FABQAeC5ucHkBABAAkAAAAAAAAACQAAAAAAAAAJNOVU1QWQEAdgB7"
    "J2Rlc2NyJzogJzxmNCcsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCAyKSwgfSAgICAgICAg"
    "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAACAPwAAAEAAAEBAAACA"
    "QFBLAQItAy0AAAAAAAAAIQBO+yB1kAAAAJAAAAAFAAAAAAAAAAAAAACAAQAAAAB4Lm5weVBLBQYAAAAAAQABADMA"
    "AADHAAAAAAA=";
constexpr char kCompressed[] =
    "UEsDBC0AAAAIAAAAIQBO+yB1//////////8FABQAeC5ucHkBABAAkAAAAAAAAABTAAAAAAAAAJvsF+obEMnIUMZQ"
    "rZ6SWpxcpG6loG6TZqKuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GkY6CkaaOgq1CmQDLgaGBnsGBgYH"
    "IALiBgcAUEsBAi0DLQAAAAgAAAAhAE77IHVTAAAAkAAAAAUAAAAAAAAAAAAAAIABAAAAAHgubnB5UEsFBgAAAAAB"
    "AAEAMwAAAIoAAAAAAA==";

HostTensor F32(std::vector<int64_t> dims, std::vector<double> values) {
  return HostTensor::FromDoubles(DType::kF32, dims, values);
}

class CalibrationDataTest : public testing::Test {
 protected:
  CalibrationDataTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string Npz(const std::string& name,
                  const std::vector<std::pair<std::string, HostTensor>>& arrays) {
    pt2::ZipWriter zip;
    for (const auto& [key, array] : arrays) zip.Add(key + ".npy", *FormatNpy(array));
    return Write(name, zip.Finish());
  }

  // All batches; the error goes to error_.
  std::vector<std::vector<HostTensor>> ReadAll(const char* model, const std::string& source) {
    std::vector<std::vector<HostTensor>> batches;
    module_ = Parse(model);
    auto data = CalibrationData::Open(source, *module_->main());
    if (!data.ok()) {
      error_ = std::string(data.status().message());
      return batches;
    }
    while (true) {
      auto batch = data->Next();
      if (!batch.ok()) error_ = std::string(batch.status().message());
      if (!batch.ok() || !*batch) return batches;
      batches.push_back(*std::move(*batch));
    }
  }

  std::filesystem::path folder_;
  std::unique_ptr<Module> module_;
  std::string error_;
};

TEST_F(CalibrationDataTest, ArraysGoToTheInputsOfTheirNames) {
  const std::string path =
      Npz("a.npz", {{"mask", HostTensor::FromInts(DType::kI64, {3}, {7, 8, 9})},
                    {"x", F32({3, 2}, {1, 2, 3, 4, 5, 6})}});
  const auto batches = ReadAll(kTwoInputs, path);
  ASSERT_EQ(batches.size(), 1u) << error_;
  EXPECT_THAT(batches[0][0].ReadDoubles(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(batches[0][1].ReadInts(), ElementsAre(7, 8, 9));
}

TEST_F(CalibrationDataTest, ArraysWithoutNamesComeInOrder) {
  const std::string path = Npz("a.npz", {{"arr_1", HostTensor::FromInts(DType::kI64, {1}, {7})},
                                         {"arr_0", F32({1, 2}, {1, 2})}});
  const auto batches = ReadAll(kTwoInputs, path);
  ASSERT_EQ(batches.size(), 1u) << error_;
  EXPECT_THAT(batches[0][0].ReadDoubles(), ElementsAre(1, 2));
}

// The model takes one row at a time; state of the program is not asked for.
TEST_F(CalibrationDataTest, AStackIsManyBatches) {
  const std::string path = Write("x.npy", *FormatNpy(F32({3, 2}, {1, 2, 3, 4, 5, 6})));
  const auto batches = ReadAll(kOneInput, path);
  ASSERT_EQ(batches.size(), 3u) << error_;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(batches[i][0].valid());
    EXPECT_THAT(batches[i][1].dims(), ElementsAre(1, 2));
    EXPECT_THAT(batches[i][1].ReadDoubles(), ElementsAre(2 * i + 1, 2 * i + 2));
  }
}

TEST_F(CalibrationDataTest, FoldersInTheOrderOfNames) {
  Write("b.npy", *FormatNpy(F32({1, 2}, {3, 4})));
  Write("a.npy", *FormatNpy(F32({2, 2}, {1, 2, 5, 6})));
  Write("readme.txt", "no data");
  const auto batches = ReadAll(kOneInput, folder_.string());
  ASSERT_EQ(batches.size(), 3u) << error_;
  EXPECT_THAT(batches[0][1].ReadDoubles(), ElementsAre(1, 2));
  EXPECT_THAT(batches[1][1].ReadDoubles(), ElementsAre(5, 6));
  EXPECT_THAT(batches[2][1].ReadDoubles(), ElementsAre(3, 4));
}

TEST_F(CalibrationDataTest, ReadsWhatNumpyWrites) {
  for (const char* archive : {kStored, kCompressed}) {
    std::string bytes;
    ASSERT_TRUE(absl::Base64Unescape(archive, &bytes));
    const auto batches = ReadAll(kOneInput, Write("a.npz", bytes));
    ASSERT_EQ(batches.size(), 2u) << error_;
    EXPECT_THAT(batches[1][1].ReadDoubles(), ElementsAre(3, 4));
  }
}

TEST_F(CalibrationDataTest, SeededBatchesDiffer) {
  const auto batches = ReadAll(kOneInput, "seeded:2");
  ASSERT_EQ(batches.size(), 2u) << error_;
  EXPECT_FALSE(batches[0][0].valid());
  EXPECT_FALSE(batches[0][1].BitEqual(batches[1][1]));
}

TEST_F(CalibrationDataTest, Errors) {
  const auto error = [&](const char* model, const std::string& source) {
    error_.clear();
    ReadAll(model, source);
    return error_;
  };
  const std::string wide = Write("wide.npy", *FormatNpy(F32({1, 3}, {1, 2, 3})));
  EXPECT_THAT(error(kOneInput, wide),
              HasSubstr("wide.npy: input x is f32[1, 3], the model takes f32[1, 2]"));
  const std::string f64 =
      Write("f64.npy", *FormatNpy(HostTensor::FromDoubles(DType::kF64, {1, 2}, {1, 2})));
  EXPECT_THAT(error(kOneInput, f64), HasSubstr("input x is f64[1, 2]"));
  EXPECT_THAT(error(kTwoInputs, wide), HasSubstr("the model's inputs are x, mask"));
  EXPECT_THAT(error(kTwoInputs, Npz("x.npz", {{"x", F32({1, 2}, {1, 2})}})),
              HasSubstr("x.npz: it has no array \"mask\""));
  EXPECT_THAT(error(kOneInput, Npz("y.npz", {{"x", F32({1, 2}, {1, 2})}, {"y", F32({}, {1})}})),
              HasSubstr("its array \"y\" is none"));
  EXPECT_THAT(error(kOneInput, "/nowhere.npz"), HasSubstr("/nowhere.npz"));
  EXPECT_THAT(error(kOneInput, Write("a.csv", "1")), HasSubstr(".npz and .npy files are read"));
  EXPECT_THAT(error(kOneInput, Write("bad.npz", "PK")), HasSubstr("bad.npz: "));
  EXPECT_THAT(error(kOneInput, "seeded:0"), HasSubstr("not \"0\""));
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_THAT(error(kOneInput, (folder_ / "empty").string()), HasSubstr("holds no .npz"));
}

}  // namespace
}  // namespace weft
