#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "synps/error.h"
#include "synps/load_memory.h"
#include "synps/memory_plan.h"

namespace synps::testing {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// A matrix of 256 columns with 100 bytes a row, and with 4 bytes a row of scales.
StoredWeight make_weight(const std::string& path, std::uint64_t rows) {
  StoredWeight weight;
  weight.weight = {path, Shape{rows, 256}, DType::f32};
  weight.codec = {"p", "q", 1};
  const auto add = [&](const char* name, std::uint64_t row) {
    StoredComponent stored;
    stored.component = {name, DType::u8, Shape{rows, row}, rows * row, false};
    stored.stored_bytes = (rows * row + 63) / 64 * 64;
    stored.chunk_rows = 16;
    stored.chunk_bytes = 16 * row;
    weight.components.push_back(stored);
  };
  add("codes", 100);
  add("scales", 4);
  return weight;
}

FormDecision stored_on(Residency residency) {
  FormDecision decision;
  decision.form.residency = residency;
  decision.own_residency = residency;
  return decision;
}

FormDecision relaid(FormReason reason, Residency own = Residency::heap) {
  FormDecision decision = stored_on(Residency::heap);
  decision.own_residency = own;
  decision.form.order = Order::rows8;
  decision.relays = true;
  decision.reason = reason;
  return decision;
}

FormDecision dequantized(Residency own = Residency::heap) {
  FormDecision decision = stored_on(Residency::heap);
  decision.own_residency = own;
  decision.dequantizes = true;
  decision.reason = FormReason::no_kernel;
  return decision;
}

PlannedLoad planned(const StoredWeight& weight, FormDecision decision) {
  const WeightMemory memory = memory_of(weight, decision);
  return {&weight, std::move(decision), memory};
}

std::string forms(const MemoryPlan& plan) {
  std::string text;
  for (const PlannedLoad& load : plan.weights) {
    if (!text.empty()) text += ' ';
    text += load.decision.form.residency == Residency::mapped ? "mapped" : "heap";
    if (load.decision.relays) text += "+relaid";
  }
  return text;
}

}  // namespace

TEST_CASE("bytes of a weight in every form") {
  // 40 rows: 4000 and 160 true bytes, 4032 and 192 stored ones, chunks of 1600 and 64.
  StoredWeight weight = make_weight("w", 40);
  CHECK(memory_of(weight, stored_on(Residency::mapped)) == WeightMemory{4224, 0, 4224, 0, 0});
  CHECK(memory_of(weight, stored_on(Residency::heap)) == WeightMemory{4224, 4224, 0, 0, 0});
  CHECK(memory_of(weight, relaid(FormReason::wanted)) ==
        WeightMemory{4224, 4032 + 192, 0, 4032 + 192, 1600});
  CHECK(memory_of(weight, dequantized()) ==
        WeightMemory{4224, 4 * 40 * 256, 0, 4 * 40 * 256, 1600 + 64});
  CHECK(heap_blocks(weight, stored_on(Residency::mapped)).empty());
  CHECK(heap_blocks(weight, relaid(FormReason::wanted)) == std::vector<std::uint64_t>{4032, 192});
  CHECK(heap_blocks(weight, dequantized()) == std::vector<std::uint64_t>{40960});

  // The only chunk is not more than the component has, with its padding.
  StoredWeight small = make_weight("s", 3);
  CHECK(conversion_buffer_bytes(small, relaid(FormReason::wanted)) == 320);
  CHECK(conversion_buffer_bytes(small, dequantized()) == 320 + 64);
  CHECK(conversion_buffer_bytes(small, stored_on(Residency::heap)) == 0);

  // Volatile components are padded to pages, which a copy of them keeps, and a converted one not.
  for (StoredComponent& stored : weight.components) stored.stored_bytes = 4096;
  CHECK(memory_of(weight, stored_on(Residency::heap)).resident == 8192);
  CHECK(memory_of(weight, relaid(FormReason::wanted)).resident == 4224);
}

TEST_CASE("bytes of a compressed weight are those of what it becomes") {
  StoredWeight weight = make_weight("w", 40);
  for (StoredComponent& stored : weight.components) {
    stored.compression = Compression::zstd;
    stored.stored_bytes = stored.component.bytes / 2 + 1;
  }
  FormDecision decision = stored_on(Residency::heap);
  decision.inflates = true;
  const std::uint64_t reader = kInflaterBytes + kVerifyBytes;
  CHECK(memory_of(weight, decision) == WeightMemory{2001 + 81, 4224, 0, 4224, reader});
  CHECK(resident_as_stored(weight, decision) == 2082);
  decision.relays = true;
  CHECK(memory_of(weight, decision) == WeightMemory{2082, 4224, 0, 4224, reader + 1600});
}

TEST_CASE("sizes that do not fit 64 bits are errors, and sums of them fit no budget") {
  StoredWeight weight = make_weight("w", 8);
  weight.weight.shape = Shape{std::uint64_t{1} << 62, 2};
  CHECK_THROWS_AS(memory_of(weight, dequantized()), Error);
  weight.weight.shape = Shape{std::uint64_t{1} << 61};
  CHECK(memory_of(weight, dequantized()).resident == std::uint64_t{1} << 63);
  StoredWeight twin = weight;
  twin.weight.path = "x";
  const auto most = std::numeric_limits<std::uint64_t>::max();
  const MemoryPlan plan =
      resolve_plan({planned(weight, dequantized()), planned(twin, dequantized())}, most, false);
  CHECK(plan.total.resident == most);
  CHECK_FALSE(plan.fits);
  CHECK(resolve_plan({planned(weight, dequantized())}, most, false).fits);
  for (StoredComponent& stored : twin.components) stored.stored_bytes = most - 1;
  CHECK_THROWS_AS(memory_of(twin, stored_on(Residency::mapped)), Error);
  CHECK_THROWS_AS(memory_of(twin, stored_on(Residency::heap)), Error);
}

TEST_CASE("without a budget everything fits, and nothing is undone") {
  const StoredWeight weight = make_weight("w", 40);
  const MemoryPlan plan = resolve_plan({planned(weight, relaid(FormReason::wanted))}, {}, false);
  CHECK(plan.fits);
  CHECK(forms(plan) == "heap+relaid");
  CHECK(plan.refused.empty());
  CHECK(resolve_plan({}, 0, true).fits);
}

TEST_CASE("a plan fits to the byte") {
  const StoredWeight weight = make_weight("w", 40);
  FormDecision decision = relaid(FormReason::only_order);
  const std::uint64_t need = 4224 + 1600;
  CHECK(resolve_plan({planned(weight, decision)}, need, false).fits);
  const MemoryPlan plan = resolve_plan({planned(weight, decision)}, need - 1, false);
  CHECK_FALSE(plan.fits);
  CHECK(forms(plan) == "heap+relaid");
  // The transient bytes are those of one weight at a time.
  const StoredWeight other = make_weight("x", 40);
  CHECK(
      resolve_plan({planned(weight, decision), planned(other, decision)}, need + 4224, false).fits);
}

TEST_CASE("over budget, relayouts go first, then the heap, the largest first") {
  const StoredWeight a = make_weight("a", 16);  // 1600 + 64
  const StoredWeight b = make_weight("b", 48);  // 4800 + 192
  const StoredWeight c = make_weight("c", 32);  // 3200 + 128
  const StoredWeight d = make_weight("d", 64);  // 6400 + 256
  const auto plan = [&](std::uint64_t budget) {
    return resolve_plan(
        {planned(a, relaid(FormReason::wanted)), planned(b, relaid(FormReason::wanted)),
         planned(c, stored_on(Residency::heap)), planned(d, stored_on(Residency::heap))},
        budget, false);
  };
  const std::uint64_t all = 1664 + 4992 + 3328 + 6656;
  CHECK(forms(plan(all + 1600)) == "heap+relaid heap+relaid heap heap");
  CHECK(forms(plan(all + 1599)) == "heap+relaid mapped heap heap");
  CHECK(forms(plan(all - 4992 + 1600)) == "heap+relaid mapped heap heap");
  // Relayouts, the small one, too, before the largest on the heap.
  CHECK(forms(plan(all - 4992 + 1599)) == "mapped mapped heap heap");
  CHECK(forms(plan(3328 + 6656)) == "mapped mapped heap heap");
  CHECK(forms(plan(3328 + 6655)) == "mapped mapped heap mapped");
  CHECK(forms(plan(3328)) == "mapped mapped heap mapped");
  CHECK(forms(plan(3327)) == "mapped mapped mapped mapped");
  const MemoryPlan none = plan(0);
  CHECK(forms(none) == "mapped mapped mapped mapped");
  CHECK(none.fits);
  CHECK(none.total.resident == 0);
  CHECK(none.total.mapped == all);
  for (const PlannedLoad& load : none.weights) {
    CHECK(load.decision.reason == FormReason::undone);
    CHECK(load.decision.form.order == Order::rows1);
    CHECK_FALSE(load.decision.converts());
  }
}

TEST_CASE("weights of one size are undone by their paths") {
  const StoredWeight b = make_weight("b", 16);
  const StoredWeight a = make_weight("a", 16);
  const StoredWeight c = make_weight("c", 16);
  const auto heap = stored_on(Residency::heap);
  const MemoryPlan plan =
      resolve_plan({planned(b, heap), planned(a, heap), planned(c, heap)}, 2 * 1664, false);
  CHECK(forms(plan) == "heap mapped heap");
}

TEST_CASE("what was asked for or is needed stays, and may not fit") {
  const StoredWeight a = make_weight("a", 16);
  FormDecision asked_heap = stored_on(Residency::heap);
  asked_heap.asked_residency = true;
  FormDecision inflated = stored_on(Residency::heap);
  inflated.inflates = true;
  for (const FormDecision& decision :
       {asked_heap, inflated, dequantized(), relaid(FormReason::only_order),
        relaid(FormReason::asked_kernel_feed)}) {
    const MemoryPlan plan = resolve_plan({planned(a, decision)}, 10, false);
    CHECK_FALSE(plan.fits);
    CHECK(plan.weights[0].decision.reason == decision.reason);
    CHECK(plan.weights[0].memory == memory_of(a, decision));
  }
  // On the heap because that is asked for, relaid because nobody minds: its transient bytes go.
  FormDecision relaid_there = relaid(FormReason::wanted);
  relaid_there.asked_residency = true;
  CHECK(forms(resolve_plan({planned(a, relaid_there)}, 1664 + 1600, false)) == "heap+relaid");
  const MemoryPlan plan = resolve_plan({planned(a, relaid_there)}, 1664, false);
  CHECK(plan.fits);
  CHECK(forms(plan) == "heap");
  CHECK(plan.weights[0].decision.reason == FormReason::undone);
  // But before that, the heap that nobody asked for.
  const StoredWeight b = make_weight("b", 16);
  CHECK(forms(resolve_plan({planned(a, relaid_there), planned(b, stored_on(Residency::heap))},
                           1664 + 1600, false)) == "heap+relaid mapped");
}

TEST_CASE("a strict profile refuses what raises resident bytes") {
  const StoredWeight weight = make_weight("w", 40);
  const auto refused = [&](FormDecision decision) {
    return !resolve_plan({planned(weight, std::move(decision))}, {}, true).refused.empty();
  };
  CHECK_FALSE(refused(stored_on(Residency::mapped)));
  CHECK_FALSE(refused(stored_on(Residency::heap)));
  // Of the same size, on the heap either way.
  CHECK_FALSE(refused(relaid(FormReason::only_order, Residency::heap)));
  CHECK(refused(relaid(FormReason::only_order, Residency::mapped)));
  CHECK(refused(relaid(FormReason::asked_kernel_feed, Residency::mapped)));
  CHECK(refused(dequantized(Residency::heap)));
  CHECK(refused(dequantized(Residency::mapped)));
  StoredWeight frames = weight;
  for (StoredComponent& stored : frames.components) {
    stored.compression = Compression::zstd;
    stored.stored_bytes = stored.component.bytes / 2;
  }
  FormDecision inflated = stored_on(Residency::heap);
  inflated.inflates = true;
  CHECK(resolve_plan({planned(frames, inflated)}, {}, true).refused == std::vector<std::size_t>{0});
  CHECK(resolve_plan({planned(frames, inflated)}, {}, false).refused.empty());
}

TEST_CASE("suggestions undo first what nobody asked for, and say what that saves") {
  const StoredWeight a = make_weight("a", 16);
  const StoredWeight b = make_weight("b", 48);
  const StoredWeight c = make_weight("c", 32);
  FormDecision asked_heap = stored_on(Residency::heap);
  asked_heap.asked_residency = true;
  const MemoryPlan plan =
      resolve_plan({planned(a, dequantized(Residency::mapped)), planned(b, asked_heap),
                    planned(c, relaid(FormReason::only_order, Residency::mapped))},
                   5, false);
  REQUIRE(plan.suggestions.size() == 3);
  CHECK(plan.suggestions[0].kind == Suggestion::Kind::undo_dequantize);
  CHECK(plan.suggestions[0].saves == 4 * 16 * 256);
  CHECK(plan.suggestions[0].weights == std::vector<std::string>{"a"});
  CHECK(plan.suggestions[1].kind == Suggestion::Kind::undo_relayout);
  CHECK(plan.suggestions[1].saves == 3328);
  CHECK(plan.suggestions[2].kind == Suggestion::Kind::map);
  CHECK(plan.suggestions[2].asked);
  CHECK(plan.suggestions[2].saves == 4992);
  for (const Suggestion& each : plan.suggestions) CHECK_FALSE(each.text.empty());
}

TEST_CASE("a suggestion says all that it takes, and saves what the plan would then need less") {
  const StoredWeight a = make_weight("a", 16);
  const auto only = [&](FormDecision decision) {
    const MemoryPlan plan = resolve_plan({planned(a, std::move(decision))}, 5, false);
    REQUIRE(plan.suggestions.size() == 1);
    return plan.suggestions[0];
  };
  // As stored it would be on the heap for the profile alone, and so mapped.
  CHECK(only(dequantized(Residency::heap)).saves == 4 * 16 * 256);
  CHECK_FALSE(only(dequantized(Residency::heap)).asked);
  CHECK(only(relaid(FormReason::asked_kernel_feed, Residency::heap)).saves == 1664);
  FormDecision on_heap = relaid(FormReason::asked_kernel_feed, Residency::heap);
  on_heap.asked_residency = true;
  CHECK(only(on_heap).saves == 1664);
  CHECK(only(on_heap).text.find("form.residency") != std::string::npos);
  FormDecision both = dequantized(Residency::mapped);
  CHECK(only(both).text.find("form.compress") == std::string::npos);
  both.inflates = true;
  CHECK(only(both).text.find("form.compress") != std::string::npos);
}

TEST_CASE("what does not fit or is refused is an error that says what to do") {
  const StoredWeight weight = make_weight("w", 40);
  const MemoryPlan over = resolve_plan({planned(weight, dequantized())}, 1000, false);
  try {
    check_fits(over, profiles::native(), "m.synps", false);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
    const std::string text = error.what();
    for (const char* part : {"m.synps", "native", "40960 bytes", "at most 1000 bytes", "as_stored",
                             "saves 40960 bytes", "allow to be over budget"})
      CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  }
  CHECK_NOTHROW(check_fits(over, profiles::native(), "m.synps", true));
  CHECK_NOTHROW(check_fits(resolve_plan({}, 0, true), profiles::native(), "m.synps", false));

  std::vector<StoredWeight> weights;
  for (const char* path : {"a", "b", "c", "d", "e"}) weights.push_back(make_weight(path, 16));
  std::vector<PlannedLoad> loads;
  for (const StoredWeight& each : weights)
    loads.push_back(planned(each, dequantized(Residency::mapped)));
  const MemoryPlan refused = resolve_plan(std::move(loads), kMiB, true);
  CHECK(refused.fits);
  try {
    check_fits(refused, profiles::mobile_2gb(), "m.synps", true);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
    REQUIRE(error.problems().size() == 3);
    CHECK(error.problems()[0].field == "a");
    CHECK(error.problems()[2].hint.find("2 more weights") != std::string::npos);
    CHECK(std::string(error.what()).find("strict profile mobile_2gb") != std::string::npos);
  }
}

TEST_CASE("a plan for an index asks policy, caller and profile") {
  ArtifactIndex index;
  index.weights = {make_weight("a", 16), make_weight("b", 16), make_weight("c", 16)};
  index.weights[1].asked.residency = ResidencyRequest::heap;
  index.weights[1].form.residency = Residency::heap;
  const auto no_codec = [](std::size_t) -> const Codec* { return nullptr; };
  LoadOptions options;
  CHECK(forms(plan_load(index, no_codec, options)) == "mapped heap mapped");
  CHECK_FALSE(plan_load(index, no_codec, options).budget.has_value());
  // An override holds without a profile.
  options.overrides = {
      {[](std::string_view path) { return path == "c"; }, {.residency = ResidencyRequest::heap}},
      {{}, {.residency = ResidencyRequest::mapped}}};
  CHECK(forms(plan_load(index, no_codec, options)) == "mapped mapped heap");
  options.overrides.clear();
  options.profile = profiles::mobile_2gb();
  MemoryPlan plan = plan_load(index, no_codec, options);
  CHECK(forms(plan) == "mapped heap mapped");
  CHECK(plan.budget == 1348 * kMiB);
  options.profile->residency = Residency::heap;
  CHECK(forms(plan_load(index, no_codec, options)) == "heap heap heap");
  options.budget = 2 * 1664;
  plan = plan_load(index, no_codec, options);
  CHECK(forms(plan) == "mapped heap heap");
  CHECK(plan.budget == 2 * 1664);
  CHECK(plan.fits);
}

}  // namespace synps::testing
