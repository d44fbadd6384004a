#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "abi_in_c.h"
#include "package_table.h"
#include "synps/codec_abi.h"

namespace synps::testing {

// The first edition's sizes, on every 64-bit target. They only grow; these lines then become a
// lower bound. No other number may change while the version is 1.
TEST_CASE("the interface is the same for C and C++, and frozen") {
  std::vector<std::size_t> sizes(32);
  sizes.resize(synps_test_abi_sizes(sizes.data(), sizes.size()));
  CHECK(sizes == std::vector<std::size_t>{
                     sizeof(synps_codec_weight), sizeof(synps_codec_piece),
                     sizeof(synps_codec_component), sizeof(synps_codec_bytes),
                     sizeof(synps_codec_const_bytes), sizeof(synps_codec_finding),
                     sizeof(synps_codec_findings), sizeof(synps_codec), sizeof(synps_codec_package),
                     offsetof(synps_codec, row_granule), offsetof(synps_codec, supports),
                     offsetof(synps_codec, graph_decode)});
  if (sizeof(void*) != 8) return;
  CHECK(sizes == std::vector<std::size_t>{56, 40, 336, 16, 16, 24, 80, 832, 88, 736, 752, 824});
}

TEST_CASE("dtypes have numbers of their own, which are frozen") {
  CHECK(abi_of_dtype(DType::boolean) == 0);
  CHECK(abi_of_dtype(DType::f32) == 17);
  CHECK(abi_of_dtype(DType::u64) == 21);
  for (const DType dtype : all_dtypes()) CHECK(dtype_of_abi(abi_of_dtype(dtype)) == dtype);
  CHECK_FALSE(dtype_of_abi(22).has_value());
}

}  // namespace synps::testing
