#include "backends/cpu/library/nbits_call.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/library/panel_weights.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"
#include "graph/tensor/tensor.h"

namespace weft::cpu {
namespace {

constexpr int kSelf = 0;
constexpr int kWeight = 1;
constexpr int kScale = 2;
constexpr int kZeroPoint = 3;
constexpr int kBias = 4;

constexpr int64_t kWordBytes = 4;

// Bytes of a panel's unpacked weights, which stay in L2 beside the rows that they multiply.
constexpr int64_t kPanelBytes = 128 << 10;
// Bytes of the rows that stay in cache while all panels are multiplied, and the fewest rows of such
// a chunk, as each chunk unpacks the weights again.
constexpr int64_t kRowBytes = 1792 << 10;
constexpr int64_t kLeastRows = 96;

// Weights of a group that are used, rounded up to whole words.
int64_t PaddedGroup(const NbitsShape& shape) {
  return AlignUp<int64_t>(std::min(shape.group, shape.depth), 32 / shape.bits);
}

// Bytes of a group of a block.
int64_t GroupBytes(const NbitsFormat& format, int64_t lanes) {
  return (format.heads + format.words) * lanes * kWordBytes;
}

float FloatAt(DType dtype, const void* from, int64_t i) {
  if (dtype == DType::kF32) return static_cast<const float*>(from)[i];
  return static_cast<float>(DecodeFloat(dtype, static_cast<const uint16_t*>(from)[i]));
}

uint8_t ZeroPointAt(const NbitsShape& shape, const uint8_t* row, int64_t g) {
  return shape.bits == 8 ? row[g] : (row[g / 2] >> (g % 2 * 4)) & 15;
}

// Packs the columns [first, first + lanes), of which those beyond the last one are zeros.
void PackBlock(const NbitsShape& shape, const NbitsFormat& format, int64_t lanes, int64_t first,
               const NbitsSource& from, uint8_t* to) {
  std::memset(to, 0, format.block_bytes);
  if (!shape.has_zero_points) std::memset(to, 1 << (shape.bits - 1), lanes);
  const bool numbers = shape.has_numbers();
  const int64_t columns = std::min(lanes, shape.columns - first);
  for (int64_t j = 0; j < columns; ++j) {
    const int64_t column = first + j;
    const uint8_t* zeros = static_cast<const uint8_t*>(from.zero_points);
    if (numbers) zeros += column * shape.zero_row();
    for (int64_t g = 0; g < format.groups; ++g) {
      if (numbers) to[g * lanes + j] = ZeroPointAt(shape, zeros, g);
      uint8_t* group = to + format.zero_bytes + g * GroupBytes(format, lanes);
      const void* heads[] = {from.scale, from.zero_points};
      for (int64_t i = 0; i < format.heads; ++i) {
        const float head = FloatAt(shape.scale, heads[i], column * format.groups + g);
        std::memcpy(group + (i * lanes + j) * kWordBytes, &head, sizeof head);
      }
      const uint8_t* bytes = static_cast<const uint8_t*>(from.weight) +
                             (column * format.groups + g) * shape.group_bytes();
      for (int64_t w = 0; w < format.words; ++w) {
        const int64_t left = shape.group_bytes() - w * kWordBytes;
        std::memcpy(group + ((format.heads + w) * lanes + j) * kWordBytes, bytes + w * kWordBytes,
                    std::min(kWordBytes, left));
      }
    }
  }
}

class NbitsCall : public LibraryCall {
 public:
  NbitsCall(const NbitsShape& shape, std::shared_ptr<const HostBuffer> packed,
            const NbitsTables& tables, int threads)
      : shape_(shape),
        tables_(tables),
        packed_(std::move(packed)),
        threads_(threads),
        lanes_(tables.nbits.lanes),
        format_(NbitsFormatOf(shape, lanes_)),
        blocks_((shape.columns + lanes_ - 1) / lanes_),
        direct_(shape.rows <= (shape.has_floats() ? 1 : kMostNbitsRows)) {
    const int64_t padded = PaddedGroup(shape);
    const bool whole = shape.group % (32 / shape.bits) == 0 && shape.depth % (32 / shape.bits) == 0;
    if (packed_ == nullptr) packed_bytes_ = NbitsBytes(shape, format_, lanes_);
    if (shape.has_bias) bias_floats_ = blocks_ * lanes_;
    if (direct_) {
      x_group_ = padded;
      if (!whole) x_floats_ = shape.rows * format_.groups * padded;
      return;
    }
    panels_ = PanelsFor(shape.columns, shape.depth, tables.gemm);
    for (int64_t row = 0; row < shape.rows; ++row) offsets_.push_back(row * shape.x_row);
    per_chunk_ = std::max(kLeastRows, kRowBytes / (shape.depth * 4));
    most_depth_ = kPanelBytes / (tables.gemm.vectors * lanes_ * 4);
    share_floats_ = kGemmScratchFloats + tables.gemm.vectors * lanes_ * most_depth_;
  }

  int64_t scratch_bytes() const override {
    return packed_bytes_ + (Whole(bias_floats_) + Whole(x_floats_) + threads_ * share_floats_) * 4;
  }
  std::string name() const override { return direct_ ? "nbits rows" : "nbits panels"; }

  absl::Status Run(const CallMemory& memory) override {
    uint8_t* room = static_cast<uint8_t*>(memory.scratch);
    const uint8_t* packed = room;
    if (packed_ != nullptr) {
      packed = packed_->data();
    } else {
      const auto args = memory.args;
      PackNbits(shape_, format_, lanes_, {args[kWeight], args[kScale], args[kZeroPoint]}, threads_,
                room);
    }
    float* floats = reinterpret_cast<float*>(room + packed_bytes_);
    const float* bias = nullptr;
    if (shape_.has_bias) {
      const float* from = static_cast<const float*>(memory.args[kBias]);
      std::fill(std::copy(from, from + shape_.columns, floats), floats + bias_floats_, 0.0f);
      bias = floats;
    }
    floats += Whole(bias_floats_);
    const float* x = static_cast<const float*>(memory.args[kSelf]);
    float* y = static_cast<float*>(memory.result);
    if (direct_) {
      RunDirect(packed, bias, x, floats, y);
    } else {
      RunPanels(packed, bias, x, floats, y);
    }
    return absl::OkStatus();
  }

 private:
  static int64_t Whole(int64_t floats) { return AlignUp<int64_t>(floats, kCacheLine / 4); }

  void RunDirect(const uint8_t* packed, const float* bias, const float* x, float* copy,
                 float* y) const {
    NbitsRows rows;
    rows.x = x;
    rows.x_row = shape_.x_row;
    rows.x_group = x_group_;
    rows.rows = static_cast<int>(shape_.rows);
    rows.y_row = shape_.y_row;
    if (x_floats_ > 0) {
      CopyRows(x, copy);
      rows.x = copy;
      rows.x_row = format_.groups * x_group_;
    }
    const int shares = static_cast<int>(std::min<int64_t>(threads_, blocks_));
    RunTeam(shares, [&](const TeamMember& member) {
      const int64_t first = member.Begin(blocks_);
      const int64_t last = member.End(blocks_);
      NbitsRows own = rows;
      own.block = packed + first * format_.block_bytes;
      own.columns = std::min(shape_.columns, last * lanes_) - first * lanes_;
      own.bias = bias == nullptr ? nullptr : bias + first * lanes_;
      own.y = y + first * lanes_;
      tables_.nbits.run(format_, own);
    });
  }

  // Groups of whole words, with zeros behind their last elements.
  void CopyRows(const float* x, float* to) const {
    std::fill(to, to + x_floats_, 0.0f);
    for (int64_t r = 0; r < shape_.rows; ++r) {
      for (int64_t g = 0; g < format_.groups; ++g) {
        const int64_t begin = g * shape_.group;
        const int64_t end = std::min(shape_.depth, begin + shape_.group);
        const float* row = x + r * shape_.x_row;
        std::copy(row + begin, row + end, to + (r * format_.groups + g) * x_group_);
      }
    }
  }

  void RunPanels(const uint8_t* packed, const float* bias, const float* x, float* scratch,
                 float* y) const {
    const int count = static_cast<int>(panels_.size());
    const int shares = std::min(threads_, count);
    RunTeam(shares, [&](const TeamMember& member) {
      const int64_t first = member.Begin(count);
      const int64_t last = member.End(count);
      float* own = scratch + member.index * share_floats_;
      for (int64_t row = 0; row < shape_.rows; row += per_chunk_) {
        const int64_t rows = std::min(per_chunk_, shape_.rows - row);
        for (int64_t p = first; p < last; ++p) {
          RunPanel(panels_[p], row, rows, packed, bias, x, own, y);
        }
      }
    });
  }

  // The end of the part of the depth that begins at `from`: whole groups, or a part of one.
  int64_t PartEnd(int64_t from) const {
    int64_t end = from + most_depth_ / shape_.group * shape_.group;
    if (end == from) {
      end = std::min(from + most_depth_, (from / shape_.group + 1) * shape_.group);
    }
    return std::min(end, shape_.depth);
  }

  // Each part of the depth adds to the results of the part before.
  void RunPanel(const WeightPanel& weights, int64_t row, int64_t rows, const uint8_t* packed,
                const float* bias, const float* x, float* scratch, float* y) const {
    float* unpacked = scratch + kGemmScratchFloats;
    const int64_t width = weights.vectors * lanes_;
    GemmPanel panel;
    panel.offsets = offsets_.data() + row;
    panel.rows = rows;
    panel.weights = unpacked;
    panel.vectors = weights.vectors;
    panel.columns = weights.columns;
    panel.y = y + row * shape_.y_row + weights.first;
    panel.y_row = panel.addend_row = shape_.y_row;
    panel.least = -std::numeric_limits<float>::infinity();
    panel.most = std::numeric_limits<float>::infinity();
    for (int64_t from = 0; from < shape_.depth;) {
      const int64_t to = PartEnd(from);
      NbitsUnpack part;
      part.block = packed + weights.first / lanes_ * format_.block_bytes;
      part.vectors = weights.vectors;
      part.from = from;
      part.to = to;
      part.out = unpacked;
      tables_.nbits.unpack(format_, part);
      panel.x = x + from;
      panel.depth = to - from;
      panel.end = unpacked + (to - from) * width;
      panel.bias = from == 0 && bias != nullptr ? bias + weights.first : nullptr;
      panel.addend = from == 0 ? nullptr : panel.y;
      tables_.gemm.run(panel, scratch);
      from = to;
    }
  }

  const NbitsShape shape_;
  const NbitsTables tables_;
  const std::shared_ptr<const HostBuffer> packed_;
  const int threads_;
  const int64_t lanes_;
  const NbitsFormat format_;
  const int64_t blocks_;
  const bool direct_;         // Few rows.
  int64_t packed_bytes_ = 0;  // Bytes of the weights in scratch; 0: they are constants.
  int64_t bias_floats_ = 0;
  int64_t x_group_ = 0;
  int64_t x_floats_ = 0;  // Floats of a copy of the rows; 0: no copy is needed.
  std::vector<WeightPanel> panels_;
  std::vector<int64_t> offsets_;  // Of each row, in elements.
  int64_t per_chunk_ = 0;
  int64_t most_depth_ = 0;    // Depth of the largest part.
  int64_t share_floats_ = 0;  // Floats of scratch of a thread.
};

}  // namespace

NbitsFormat NbitsFormatOf(const NbitsShape& shape, int64_t lanes) {
  NbitsFormat format;
  format.bits = shape.bits;
  format.depth = shape.depth;
  format.group = shape.group;
  format.groups = shape.groups();
  format.words = PaddedGroup(shape) * shape.bits / 32;
  format.zeros = shape.zeros;
  format.heads = shape.has_floats() ? 2 : 1;
  const bool numbers = shape.has_numbers();
  format.zero_step = numbers ? lanes : 0;
  const int64_t zeros = numbers ? format.groups * lanes : lanes;
  format.zero_bytes = AlignUp(zeros, kCacheLine);
  format.block_bytes =
      format.zero_bytes + AlignUp(format.groups * GroupBytes(format, lanes), kCacheLine);
  return format;
}

int64_t NbitsBytes(const NbitsShape& shape, const NbitsFormat& format, int64_t lanes) {
  return (shape.columns + lanes - 1) / lanes * format.block_bytes;
}

void PackNbits(const NbitsShape& shape, const NbitsFormat& format, int64_t lanes,
               const NbitsSource& from, int threads, uint8_t* to) {
  const int64_t blocks = (shape.columns + lanes - 1) / lanes;
  ForEach(threads, blocks, [&](int64_t b, const TeamMember&) {
    PackBlock(shape, format, lanes, b * lanes, from, to + b * format.block_bytes);
  });
}

std::unique_ptr<LibraryCall> MakeNbitsPanelCall(const NbitsShape& shape,
                                                std::shared_ptr<const HostBuffer> packed,
                                                const NbitsTables& tables, int threads) {
  return std::make_unique<NbitsCall>(shape, std::move(packed), tables, threads);
}

}  // namespace weft::cpu
