#include "synps/packed_form.h"

#include <doctest/doctest.h>

#include <optional>

namespace synps {
namespace {

/// A target whose kernels feed on q4_0, which they want in rows8, on q8_0 in both orders, wanting
/// neither, and on f16.
PackTarget a_target() {
  KernelRegistry kernels;
  const auto add = [&](const char* codec, Order order, bool wanted, bool dense = false) {
    Kernel kernel;
    kernel.key = {KernelOp::matvec, codec, order, Target::cpu_avx2};
    kernel.wanted = wanted;
    kernel.dense = dense;
    kernels.add(kernel);
  };
  add("q4_0:q4_0", Order::rows1, false);
  add("q4_0:q4_0", Order::rows8, true);
  add("q8_0:q8_0", Order::rows1, false);
  add("q8_0:q8_0", Order::rows8, false);
  add("f16:f16", Order::rows1, false, true);
  return {kernels.capabilities(TargetRequest::cpu_avx2), std::nullopt, "cpu-avx2"};
}

TEST_CASE("the order of a packed weight, over every combination of what decides it") {
  const PackTarget targets[] = {PackTarget{}, a_target()};
  for (const PackTarget& target : targets)
    for (const char* codec : {"q4_0:q4_0", "q8_0:q8_0", "q6_k:q6_k", "f16:f16", "keep"})
      for (const OrderRequest asked :
           {OrderRequest::automatic, OrderRequest::as_stored, OrderRequest::kernel_feed})
        for (const bool packed : {false, true})
          for (const bool matrix : {false, true})
            for (const bool rows8 : {false, true}) {
              FormRequest request;
              request.order = asked;
              PackSource source;
              source.codec = codec;
              source.packed = packed;
              source.matrix = matrix;
              source.rows8 = rows8;
              const PackedForm form = resolve_packed_form(request, source, target);
              CAPTURE(codec);
              CAPTURE(packed);
              CAPTURE(matrix);
              CAPTURE(rows8);
              const bool known =
                  !target.name.empty() && source.codec != "q6_k:q6_k" && source.codec != "keep";
              const bool wants_rows8 = known && source.codec == "q4_0:q4_0" && packed &&
                                       asked != OrderRequest::as_stored;
              CHECK(form.form.order == (wants_rows8 && rows8 ? Order::rows8 : Order::rows1));
              OrderFault fault = OrderFault::none;
              if (asked == OrderRequest::kernel_feed && !known) fault = OrderFault::no_kernel;
              if (asked == OrderRequest::kernel_feed && wants_rows8 && !matrix)
                fault = OrderFault::not_matrix;
              CHECK(form.fault == fault);
            }
}

TEST_CASE("the residency of a packed weight, over every combination of what decides it") {
  for (const std::optional<Residency> profile :
       {std::optional<Residency>(), std::optional(Residency::heap),
        std::optional(Residency::mapped)})
    for (const ResidencyRequest asked :
         {ResidencyRequest::automatic, ResidencyRequest::heap, ResidencyRequest::mapped})
      for (const bool is_volatile : {false, true})
        for (const Compression compression : {Compression::none, Compression::zstd}) {
          PackTarget target;
          if (profile) {
            target.profile.emplace();
            target.profile->residency = *profile;
          }
          FormRequest request;
          request.residency = asked;
          PackSource source;
          source.is_volatile = is_volatile;
          source.compression = compression;
          Residency wanted = profile.value_or(Residency::mapped);
          if (is_volatile) wanted = Residency::mapped;
          if (asked == ResidencyRequest::heap) wanted = Residency::heap;
          if (asked == ResidencyRequest::mapped) wanted = Residency::mapped;
          if (compression != Compression::none) wanted = Residency::heap;
          CHECK(resolve_packed_form(request, source, target).form.residency == wanted);
        }
}

TEST_CASE("a packed form says what is done to the bytes, and keeps the orientation") {
  FormRequest request;
  request.orientation = Orientation::in_out;
  PackSource source;
  source.codec = "f16:f16";
  CHECK(resolve_packed_form(request, source).form.encoding == Encoding{});
  CHECK(resolve_packed_form(request, source).form.orientation == Orientation::in_out);
  source.converts = true;
  CHECK(resolve_packed_form(request, source).form.encoding ==
        Encoding{Encoding::Kind::requantize_to, "f16:f16"});
}

TEST_CASE("what no kernel multiplies is in no other order") {
  const PackTarget target = a_target();
  PackSource source;
  source.codec = "q4_0:q4_0";
  source.packed = source.matrix = source.rows8 = true;
  FormRequest request;
  CHECK(resolve_packed_form(request, source, target).form.order == Order::rows8);
  request.orientation = Orientation::in_out;
  CHECK(resolve_packed_form(request, source, target).form.order == Order::rows1);
  CHECK(resolve_packed_form(request, source, target).fault == OrderFault::none);
  request.order = OrderRequest::kernel_feed;
  CHECK(resolve_packed_form(request, source, target).form.order == Order::rows1);
  CHECK(resolve_packed_form(request, source, target).fault == OrderFault::in_out);
}

}  // namespace
}  // namespace synps
