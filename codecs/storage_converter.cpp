#include "storage_converter.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "load_trace.h"
#include "storage_lane.h"
#include "storage_scale.h"
#include "storage_steps.h"
#include "synps/error.h"
#include "synps/value_problems.h"

namespace synps {
namespace {

constexpr std::uint64_t kCopyBytes = 1u << 20;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) noexcept {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// Cuts [0, units) into shares that differ by one at most.
struct Shares {
  std::uint64_t units = 0;
  std::uint64_t count = 0;
  std::uint64_t begin(std::uint64_t share) const noexcept {
    return units / count * share + std::min(share, units % count);
  }
};

class Converter {
 public:
  Converter(const StorageState& from, StorageState& to, const ConversionOptions& options)
      : from_(from),
        to_(to),
        options_(options),
        writer_(to),
        encodes_(from.stored.codec != to.stored.codec || awaits_scale(from) != awaits_scale(to)),
        relays_(from.order() != to.order()) {}

  void run();

 private:
  using Clock = std::chrono::steady_clock;

  template <typename Work>
  void in_shares(const Shares& shares, Work work);
  Shares shares_of(std::uint64_t units) const noexcept;
  void analyse();
  void put_whole(std::size_t c, std::span<const std::byte> bytes);
  void put_whole_components();
  void convert_rows();
  void copy();
  void copy_chunks(StorageRows& rows, std::size_t c, std::uint64_t first, std::uint64_t last);
  std::uint64_t rows_a_unit() const;
  void check_values() const;
  void tell(Clock::time_point begin) const;
  std::string_view kind() const;

  const StorageState& from_;
  StorageState& to_;
  const ConversionOptions& options_;
  StorageWriter writer_;
  bool encodes_;
  bool relays_;
  std::optional<StorageScale> scale_{};  ///< of what is encoded
  std::unique_ptr<Analysis> analysis_{};
  ValueReport values_{};
  Clock::duration busy_{};
};

void Converter::run() {
  const auto begin = options_.trace != nullptr ? Clock::now() : Clock::time_point{};
  if (encodes_) {
    scale_.emplace(from_);
    analyse();
    if (options_.trace != nullptr) busy_ += Clock::now() - begin;
  }
  if (encodes_ || relays_) {
    put_whole_components();
    convert_rows();
  } else {
    copy();
  }
  check_values();
  writer_.finish();
  if (options_.trace != nullptr) tell(begin);
}

/// What goes wrong in several shares is told of the first.
template <typename Work>
void Converter::in_shares(const Shares& shares, Work work) {
  std::vector<std::exception_ptr> failures(shares.count);
  std::vector<Clock::duration> busy(shares.count);
  const auto task = [&](std::uint64_t share) noexcept {
    const auto begin = options_.trace != nullptr ? Clock::now() : Clock::time_point{};
    try {
      work(share);
    } catch (...) {
      failures[share] = std::current_exception();
    }
    if (options_.trace != nullptr) busy[share] = Clock::now() - begin;
  };
  if (options_.executor != nullptr)
    options_.executor->run(shares.count, Task(task));
  else
    SerialExecutor().run(shares.count, Task(task));
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (const Clock::duration time : busy) busy_ += time;
}

Shares Converter::shares_of(std::uint64_t units) const noexcept {
  const std::uint64_t workers = options_.executor != nullptr ? options_.executor->workers() : 1;
  return {units, std::clamp<std::uint64_t>(units, 1, std::max<std::uint64_t>(1, workers))};
}

/// The pass over the values of a codec that must see them all. It takes any cut.
void Converter::analyse() {
  const Shape& shape = to_.stored.weight.shape;
  analysis_ = to_.codec->begin_analysis(to_.stored.weight);
  if (analysis_ == nullptr) return;
  StorageRows rows(from_);
  std::vector<float> values;
  ValueReport seen_again_by_encode;
  for_each_step(shape, 1, 1, 0, shape.rows(), [&](const RowPart& step, std::uint64_t) {
    for_each_piece(shape, step, [&](const RowPart& piece, std::uint64_t) {
      values.resize(piece.rows * piece.columns);
      rows.values(piece, values, seen_again_by_encode);
      const std::uint64_t first = piece.first_row * shape.columns() + piece.first_column;
      scale_->apply({&to_.stored.weight, first, piece.rows, piece.columns}, values,
                    seen_again_by_encode);
      analysis_->add(values);
    });
  });
}

void Converter::put_whole(std::size_t c, std::span<const std::byte> bytes) {
  StorageWriter::Lane(writer_, std::vector<std::uint64_t>(to_.stored.components.size()))
      .put(c, bytes);
}

/// Those with one value set a weight.
void Converter::put_whole_components() {
  std::vector<std::byte> bytes;
  for (std::size_t c = 0; c < to_.stored.components.size(); ++c) {
    const Component& component = to_.stored.components[c].component;
    if (!component.per_weight) continue;
    if (encodes_) {
      bytes.resize(component.bytes);
      if (analysis_ != nullptr) analysis_->store(c, bytes);
      put_whole(c, bytes);
    } else {
      StorageRows rows(from_);
      put_whole(c, rows.bytes(c, 0, component.bytes));
    }
  }
}

/// Rows that one thread converts at least: whole frames, where such are made. Several components
/// have chunks of unlike rows, so there one thread makes all.
std::uint64_t Converter::rows_a_unit() const {
  const Shape& shape = to_.stored.weight.shape;
  if (!to_.compressed())
    return step_size(shape, cut_granule(to_, shapes_of(to_)), row_group(to_)).rows;
  const auto& components = to_.stored.components;
  const auto cut = std::count_if(components.begin(), components.end(),
                                 [](const auto& stored) { return !stored.component.per_weight; });
  if (cut != 1 || shape.rank() < 2) return shape.rows();
  const auto first = std::find_if(components.begin(), components.end(),
                                  [](const auto& stored) { return !stored.component.per_weight; });
  return first->chunk_rows;
}

void Converter::convert_rows() {
  const std::uint64_t rows = to_.stored.weight.shape.rows();
  const std::uint64_t unit = std::max<std::uint64_t>(1, rows_a_unit());
  const Shares shares = shares_of(ceil_div(rows, unit));
  std::vector<ValueReport> reports(shares.count);
  in_shares(shares, [&](std::uint64_t share) {
    const std::uint64_t first = shares.begin(share) * unit;
    // Written so that it cannot wrap.
    const std::uint64_t last = share + 1 == shares.count ? rows : shares.begin(share + 1) * unit;
    StorageLane lane(from_, to_, writer_, {scale_ ? &*scale_ : nullptr, analysis_.get()}, first);
    encodes_ ? lane.encode(last) : lane.relay(last);
    reports[share] = lane.report();
  });
  for (const ValueReport& report : reports) values_.merge(report);
}

void Converter::copy() {
  for (std::size_t c = 0; c < to_.stored.components.size(); ++c) {
    const Shares shares = shares_of(to_.stored.components[c].chunks());
    in_shares(shares, [&](std::uint64_t share) {
      StorageRows rows(from_);
      copy_chunks(rows, c, shares.begin(share), shares.begin(share + 1));
    });
  }
}

void Converter::copy_chunks(StorageRows& rows, std::size_t c, std::uint64_t first,
                            std::uint64_t last) {
  const StoredComponent& stored = to_.stored.components[c];
  if (first == last) return;
  std::vector<std::uint64_t> begin(to_.stored.components.size());
  begin[c] = stored.chunk_begin(first);
  StorageWriter::Lane out(writer_, begin);
  const std::uint64_t end = std::min(stored.chunk_end(last - 1), stored.component.bytes);
  for (std::uint64_t at = begin[c]; at < end;) {
    const std::uint64_t size = std::min(kCopyBytes, end - at);
    out.put(c, rows.bytes(c, at, at + size));
    at += size;
  }
}

void Converter::check_values() const {
  if (options_.values != nullptr) *options_.values = values_;
  if (!encodes_) return;
  auto problem = value_problem(to_.stored.weight, *to_.codec, values_, options_.allow_overflow);
  if (!problem) return;
  if (values_.non_finite.count == 0)
    problem->hint = "use a codec with a wider range, such as f32, or set allow_overflow";
  throw Error(std::move(*problem));
}

std::string_view Converter::kind() const {
  if (encodes_) return to_.codec->info().dense_dtype == DType::f32 ? "dequantize" : "encode";
  if (relays_) return "relayout";
  if (to_.compressed()) return "compress";
  return from_.compressed() ? "inflate" : "copy";
}

/// One event, whatever was done to the bytes on their way.
void Converter::tell(Clock::time_point begin) const {
  LoadStopwatch time(true);
  time.begin = begin;
  time.end = Clock::now();
  time.busy = busy_;
  const auto form = [](const StorageState& state) {
    return FormOfBytes{form_text(state.stored, state.order(), state.compression().method),
                       stored_bytes(state.stored)};
  };
  tell_conversion(*options_.trace, to_.stored, kind(), form(from_), form(to_), time);
}

}  // namespace

void convert_bytes(const StorageState& from, StorageState& to, const ConversionOptions& options) {
  Converter(from, to, options).run();
}

}  // namespace synps
