// How weights are cut into pieces and units: every element once, in order, where codecs allow it.

#include "buffer.h"
#include "pieces.h"
#include "progress.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "synps/artifact_layout.h"
#include "synps/builtin_codecs.h"
#include "synps/error.h"
#include "synps/parallel.h"

using namespace synps;

namespace {

std::vector<Piece> walk(const Weight& weight, std::uint64_t begin, std::uint64_t end,
                        std::uint64_t granule) {
  std::vector<Piece> pieces;
  for (std::uint64_t at = begin; at < end;) {
    pieces.push_back(next_piece(weight, at, end, granule));
    REQUIRE(pieces.back().first_element == at);
    REQUIRE(pieces.back().elements() != 0);
    at += pieces.back().elements();
    REQUIRE(at <= end);
  }
  return pieces;
}

}  // namespace

TEST_CASE("pieces are whole rows, or parts of one row cut at granules") {
  const std::vector<Shape> shapes = {
      Shape{},           Shape{1},          Shape{7},          Shape{600'064},
      Shape{10, 32},     Shape{3, 200'064}, Shape{5000, 96},   Shape{2, 3, 4},
      Shape{1, 131'072}, Shape{4, 131'104}, Shape{100'000, 1}, Shape{2, 65'536},
  };
  for (const Shape& shape : shapes)
    for (const std::uint64_t granule : {0u, 1u, 32u, 128u, 256u}) {
      CAPTURE(shape.to_string());
      CAPTURE(granule);
      const Weight weight{"w", shape, DType::f32};
      for (const Piece& piece : walk(weight, 0, shape.elements(), granule)) {
        const bool whole_rows = piece.columns == shape.columns();
        if (whole_rows) {
          CHECK(piece.first_element % shape.columns() == 0);
        } else {
          CHECK(piece.rows == 1);
          REQUIRE(granule != 0);
          const std::uint64_t column = piece.first_element % shape.columns();
          CHECK(column % granule == 0);
          CHECK((piece.columns % granule == 0 || column + piece.columns == shape.columns()));
        }
        if (granule != 0) CHECK(piece.elements() <= kPieceElements);
        if (piece.elements() > kPieceElements) CHECK(piece.rows == 1);
      }
    }
}

TEST_CASE("a unit is a chunk, or the whole weight where its one row cannot be cut there") {
  StoredWeight stored;
  stored.components.resize(1);
  stored.components[0].chunk_rows = 16;
  stored.weight.shape = Shape{100, 32};
  CHECK(unit_elements(stored, 32) == 16 * 32);
  CHECK(unit_elements(stored, 0) == 16 * 32);
  stored.weight.shape = Shape{5'000'000};
  CHECK(unit_elements(stored, 32) == 16 * kVectorRow);
  CHECK(unit_elements(stored, 0) == 5'000'000);
  CHECK(unit_elements(stored, 3) == 5'000'000);
  stored.weight.shape = Shape{10, 32};
  CHECK(unit_elements(stored, 32) == 320);
  stored.weight.shape = Shape{};
  CHECK(unit_elements(stored, 1) == 1);
  // A per-weight component has no rows to count.
  stored.weight.shape = Shape{100, 32};
  stored.components.insert(stored.components.begin(), StoredComponent{});
  stored.components[0].component.per_weight = true;
  CHECK(unit_elements(stored, 32) == 16 * 32);
}

TEST_CASE("units of a vector follow the row that its codec can size, and meet byte for byte") {
  StoredWeight stored;
  stored.weight.shape = Shape{1'000'000};
  stored.components.resize(1);
  stored.components[0].component.bytes = 4'000'000;
  stored.components[0].chunk_rows = 8;
  stored.components[0].chunk_bytes = 8 * kVectorRow * 4;
  CHECK(unit_elements(stored, 48, 65'520) == 8 * 65'520);
  CHECK(unit_elements(stored, 48, 1'000'000) == 1'000'000);
  const Codec& f32 = *builtin_registry().resolve("f32");
  CHECK(unit_byte(stored, f32, 0, 0) == 0);
  CHECK(unit_byte(stored, f32, 0, 8 * kVectorRow) == 8 * kVectorRow * 4);
  CHECK(unit_byte(stored, f32, 0, 1'000'000) == 4'000'000);
  stored.weight.shape = Shape{100, 10};
  stored.components[0].component.bytes = 4000;
  stored.components[0].chunk_bytes = 8 * 40;
  CHECK(unit_byte(stored, f32, 0, 160) == 640);
}

TEST_CASE("a codec's sizes never lead out of a component") {
  const Codec& f32 = *builtin_registry().resolve("f32");
  StoredWeight stored;
  stored.weight.shape = Shape{100, 10};
  stored.components.resize(1);
  stored.components[0].component.bytes = 4000;
  const Piece piece{&stored.weight, 30, 2, 10};
  CHECK(piece_bytes(f32, stored, 0, piece).begin == 120);
  CHECK(piece_bytes(f32, stored, 0, piece).size == 80);
  CHECK(piece_size(f32, stored, 0, piece, 80) == 80);
  CHECK_THROWS_AS(piece_size(f32, stored, 0, piece, 79), Error);
  for (const std::uint64_t bytes : {0u, 2000u, 3996u, 8000u}) {
    stored.components[0].component.bytes = bytes;
    CHECK_THROWS_AS(piece_bytes(f32, stored, 0, piece), Error);
  }
}

TEST_CASE("a buffer grows and is used again") {
  Buffer<int> buffer;
  CHECK(buffer.take(0).empty());
  const int* first = buffer.take(100).data();
  CHECK(buffer.take(10).data() == first);
  CHECK(buffer.take(100).size() == 100);
  CHECK(buffer.take(1000).size() == 1000);
}

TEST_CASE("every unit runs once, whatever the number of workers") {
  for (const unsigned workers : {1u, 2u, 8u}) {
    std::vector<std::atomic<int>> runs(1000);
    run_parallel(workers, runs.size(), [&](unsigned worker, std::uint64_t unit) {
      CHECK(worker < workers);
      ++runs[static_cast<std::size_t>(unit)];
    });
    CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& count) { return count == 1; }));
  }
}

TEST_CASE("the failure of the lowest unit is thrown, and no unit is taken after it is known") {
  for (const unsigned workers : {1u, 2u, 8u})
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::atomic<int> runs = 0;
      std::uint64_t thrown = 0;
      try {
        run_parallel(workers, 1000, [&](unsigned, std::uint64_t unit) {
          ++runs;
          if (unit >= 20 && unit % 2 == 0) throw unit;
        });
      } catch (const std::uint64_t unit) {
        thrown = unit;
      }
      CHECK(thrown == 20);
      CHECK(runs >= 21);
      if (workers == 1) CHECK(runs == 21);
    }
}

TEST_CASE("workers are at least one, and no more than units") {
  CHECK(worker_count(8, 3) == 3);
  CHECK(worker_count(2, 100) == 2);
  CHECK(worker_count(4, 0) == 1);
  CHECK(worker_count(0, 1000) >= 1);
}

TEST_CASE("progress counts up and stops with Cancelled for good") {
  std::vector<std::uint64_t> seen;
  const ProgressCallback callback = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(total == 10);
    seen.push_back(done);
    return done < 7;
  };
  Progress progress(callback, 10);
  progress.advance(3);
  CHECK_THROWS_AS(progress.advance(4), Cancelled);
  CHECK_THROWS_AS(progress.advance(1), Cancelled);
  CHECK(seen == std::vector<std::uint64_t>{0, 3, 7});
}
