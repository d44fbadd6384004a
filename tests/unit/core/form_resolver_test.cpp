#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "synps/form_resolver.h"

namespace synps::testing {
namespace {

const std::string kCodec = "p:q";
constexpr std::array kFlags{false, true};
constexpr std::array kOrders{Order::rows1, Order::rows8};

void nothing(const KernelCall&) {}

/// What kernels feed on: bit 0 rows1, bit 1 rows8; `wanted` likewise, of those.
Capabilities capabilities_of(unsigned fed, unsigned wanted) {
  KernelRegistry registry;
  for (const Order order : kOrders) {
    const unsigned bit = order == Order::rows1 ? 1 : 2;
    if ((fed & bit) == 0) continue;
    Kernel kernel;
    kernel.key = {KernelOp::matvec, kCodec, order, Target::cpu_portable};
    kernel.wanted = (wanted & bit) != 0;
    kernel.run = nothing;
    registry.add(kernel);
  }
  return registry.capabilities(TargetRequest::cpu_portable);
}

/// One combination of everything that a form depends on.
struct Case {
  StoredForm stored{};
  LoadRequest request{};
  Profile profile{};
  unsigned fed = 0;
  unsigned wanted = 0;
  CanProduce can{};

  FormDecision resolve() const {
    static const auto kAll = [] {
      std::array<Capabilities, 16> all;
      for (unsigned i = 0; i < 16; ++i) all[i] = capabilities_of(i / 4, i % 4);
      return all;
    }();
    return resolve_form(stored, request, profile, kAll[fed * 4 + wanted], can);
  }
};

/// The precedence as a table, the first row that fits decides. Columns:
///   M  the weight is a matrix                    K  its codec is one that something may decode
///   D  f32 is asked for and can be made          A  as_stored is asked for
///   S  a kernel feeds on the stored order        O  one feeds on the other, which can be made
///   W  kernels want the other order, and only it N  kernel_feed is asked for
///   H  the weight is on the heap                 F  f32 can be made
/// y: it is so, n: it is not, .: whichever.
struct Row {
  const char* facts;  //  M K D A S O W N H F
  const char* form;   // "stored", "other" or "f32"
  FormReason reason;
};
constexpr std::array kTable{
    Row{"n . . . . . . . . .", "stored", FormReason::not_multiplied},
    Row{"y n . . . . . . . .", "stored", FormReason::not_multiplied},
    Row{"y y y . . . . . . .", "f32", FormReason::asked_dequantized},
    Row{"y y n y . . . . . .", "stored", FormReason::asked_as_stored},
    Row{"y y n n y y y y . .", "other", FormReason::asked_kernel_feed},
    Row{"y y n n y y y n y .", "other", FormReason::wanted},
    Row{"y y n n y y y n n .", "stored", FormReason::fed},
    Row{"y y n n y y n . . .", "stored", FormReason::fed},
    Row{"y y n n y n . . . .", "stored", FormReason::fed},
    Row{"y y n n n y . . . .", "other", FormReason::only_order},
    Row{"y y n n n n . . . y", "f32", FormReason::no_kernel},
    Row{"y y n n n n . . . n", "stored", FormReason::nothing_else},
};

/// Where the weight is before anything is converted, as a table: compressed, request, volatile,
/// profile.
struct Place {
  const char* facts;  // C (y/n)  R (a: auto, h: heap, m: mapped)  V (y/n)  P (h: heap, m: mapped)
  Residency residency;
};
constexpr std::array kPlaces{
    Place{"y . . .", Residency::heap},   Place{"n h . .", Residency::heap},
    Place{"n m . .", Residency::mapped}, Place{"n a y .", Residency::mapped},
    Place{"n a n h", Residency::heap},   Place{"n a n m", Residency::mapped},
};

bool fits(const char* pattern, const std::string& facts) {
  if (std::strlen(pattern) != facts.size()) FAIL("a row of another length");
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (pattern[i] != '.' && pattern[i] != facts[i]) return false;
  return true;
}

std::string spaced(const std::vector<char>& letters) {
  std::string text;
  for (const char letter : letters) {
    if (!text.empty()) text += ' ';
    text += letter;
  }
  return text;
}

char yes(bool value) {
  return value ? 'y' : 'n';
}

Residency place_of(const Case& each) {
  const char request = std::array{'a', 'h', 'm'}[static_cast<std::size_t>(each.request.residency)];
  const std::string facts =
      spaced({yes(each.stored.compressed), request, yes(each.stored.is_volatile),
              each.profile.residency == Residency::heap ? 'h' : 'm'});
  for (const Place& place : kPlaces)
    if (fits(place.facts, facts)) return place.residency;
  FAIL("no row for " << facts);
  return Residency::heap;
}

std::size_t row_of(const Case& each) {
  const bool at_rows1 = each.stored.order == Order::rows1;
  const unsigned here = at_rows1 ? 1 : 2;
  const unsigned there = at_rows1 ? 2 : 1;
  const bool makes_other = at_rows1 ? each.can.rows8 : each.can.rows1;
  const std::string facts =
      spaced({yes(each.stored.matrix), yes(each.stored.codec != "keep"),
              yes(each.request.dequantize && each.can.f32),
              yes(each.request.order == OrderRequest::as_stored), yes((each.fed & here) != 0),
              yes((each.fed & there) != 0 && makes_other), yes((each.fed & each.wanted) == there),
              yes(each.request.order == OrderRequest::kernel_feed),
              yes(place_of(each) == Residency::heap), yes(each.can.f32)});
  for (std::size_t row = 0; row < kTable.size(); ++row)
    if (fits(kTable[row].facts, facts)) return row;
  FAIL("no row for " << facts);
  return 0;
}

/// Calls `use` for every combination.
template <typename Use>
void for_each_case(const Use& use) {
  Case each;
  const auto inner = [&] {
    for (const Residency residency : {Residency::heap, Residency::mapped})
      for (const bool strict : kFlags)
        for (each.fed = 0; each.fed < 4; ++each.fed)
          for (each.wanted = 0; each.wanted < 4; ++each.wanted)
            for (const bool other : kFlags)
              for (const bool f32 : kFlags) {
                each.profile.residency = residency;
                each.profile.strict = strict;
                each.can = {true, true, f32, !each.stored.compressed};
                (each.stored.order == Order::rows1 ? each.can.rows8 : each.can.rows1) = other;
                use(each);
              }
  };
  for (const char* codec : {"p:q", "keep"})
    for (const Order order : kOrders)
      for (unsigned flags = 0; flags < 16; ++flags)
        for (const OrderRequest wish :
             {OrderRequest::automatic, OrderRequest::as_stored, OrderRequest::kernel_feed})
          for (const ResidencyRequest place :
               {ResidencyRequest::automatic, ResidencyRequest::heap, ResidencyRequest::mapped}) {
            each.stored = {.codec = codec,
                           .order = order,
                           .compressed = (flags & 1) != 0,
                           .is_volatile = (flags & 2) != 0,
                           .matrix = (flags & 4) != 0};
            each.request = {wish, place, (flags & 8) != 0};
            inner();
          }
}

/// Failures are counted and the first described, as a check for each of hundreds of thousands of
/// combinations is slow.
struct Tally {
  std::size_t cases = 0;
  std::size_t wrong = 0;
  std::string first{};

  void note(bool ok, const Case& each, const char* what) {
    ++cases;
    if (ok) return;
    if (wrong++ == 0)
      first = std::string(what) + ": codec " + each.stored.codec + " " +
              std::string(to_string(each.stored.order)) +
              (each.stored.compressed ? " compressed" : "") +
              (each.stored.is_volatile ? " volatile" : "") + (each.stored.matrix ? " matrix" : "") +
              ", asked " + std::string(to_string(each.request.order)) + " " +
              std::string(to_string(each.request.residency)) +
              (each.request.dequantize ? " dequantize" : "") + ", profile " +
              std::string(to_string(each.profile.residency)) + ", fed " + std::to_string(each.fed) +
              " wanted " + std::to_string(each.wanted) + (each.can.rows8 ? " can8" : "") +
              (each.can.rows1 ? " can1" : "") + (each.can.f32 ? " canf32" : "");
  }
};

bool same_as_table(const Case& each, const FormDecision& got, const Row& row) {
  const bool f32 = std::strcmp(row.form, "f32") == 0;
  const bool other = std::strcmp(row.form, "other") == 0;
  const Order flipped = each.stored.order == Order::rows1 ? Order::rows8 : Order::rows1;
  const bool converted = f32 || other || each.stored.compressed;
  const Residency residency = converted ? Residency::heap : place_of(each);
  const Order order = f32 ? Order::rows1 : other ? flipped : each.stored.order;
  const Encoding encoding = f32 ? Encoding{Encoding::Kind::dequantize_to, "f32"} : Encoding{};
  return got.reason == row.reason && got.dequantizes == f32 && got.relays == other &&
         got.inflates == each.stored.compressed && got.form.residency == residency &&
         got.form.order == order && got.form.encoding == encoding &&
         got.form.orientation == each.stored.orientation;
}

}  // namespace

TEST_CASE("every combination resolves as the table of the precedence says") {
  Tally tally;
  std::set<std::size_t> used;
  for_each_case([&](const Case& each) {
    const std::size_t row = row_of(each);
    used.insert(row);
    tally.note(same_as_table(each, each.resolve(), kTable[row]), each, kTable[row].facts);
  });
  CHECK_MESSAGE(tally.wrong == 0, tally.first);
  CHECK(tally.cases == 2 * 2 * 16 * 3 * 3 * 2 * 2 * 4 * 4 * 2 * 2);
  CHECK(used.size() == kTable.size());
}

TEST_CASE("what holds for every combination") {
  Tally tally;
  for_each_case([&](const Case& each) {
    const FormDecision got = each.resolve();
    const bool heap = got.form.residency == Residency::heap;
    tally.note(!got.converts() || heap, each, "converted, and not on the heap");
    tally.note(!each.stored.compressed || heap, each, "compressed, and not on the heap");
    const bool can = got.dequantizes
                         ? each.can.f32
                         : (got.form.order == Order::rows1 ? each.can.rows1 : each.can.rows8);
    tally.note(can || !got.relays, each, "an order that cannot be made");
    tally.note(!got.dequantizes || each.can.f32, each, "f32 that cannot be made");
    tally.note(!got.relays || !got.dequantizes, each, "relaid, and dequantized");
    tally.note(got.relays == (got.form.order != each.stored.order && !got.dequantizes), each,
               "another order without a relayout");
    if (each.fed == 0 && each.stored.matrix && each.stored.codec != "keep")
      tally.note(got.dequantizes ||
                     (got.form.order == each.stored.order && got.form.encoding == Encoding{}),
                 each, "without kernels neither f32 nor as stored");
    tally.note(got.asked_residency == (each.request.residency != ResidencyRequest::automatic), each,
               "who asked for the residency");
    // A strict profile refuses when it plans, and chooses no other form.
    Case lenient = each;
    lenient.profile.strict = false;
    tally.note(lenient.resolve().form == got.form, each, "strictness changes the form");
  });
  CHECK_MESSAGE(tally.wrong == 0, tally.first);
}

TEST_CASE("a weight that is stored as it was resolved is loaded with no conversion") {
  Tally tally;
  for_each_case([&](const Case& each) {
    const FormDecision first = each.resolve();
    if (first.dequantizes) return;
    Case again = each;
    again.stored.order = first.form.order;
    again.stored.compressed = false;
    again.can.mapped = true;
    const FormDecision second = again.resolve();
    if (second.dequantizes) {
      // Stored so, no kernel feeds on it: it was kept because that was asked, or nothing else was.
      tally.note(false, each, "dequantized the second time");
      return;
    }
    tally.note(!second.relays, each, "relaid the second time");
    tally.note(second.form.order == first.form.order, each, "another order the second time");
    tally.note(!second.converts(), each, "converted the second time");
  });
  CHECK_MESSAGE(tally.wrong == 0, tally.first);
}

TEST_CASE("what a caller asks for counts more than what the policy asked for") {
  const FormRequest policy{.order = OrderRequest::as_stored, .residency = ResidencyRequest::heap};
  CHECK(merged(policy, {}) == LoadRequest{OrderRequest::as_stored, ResidencyRequest::heap, false});
  CHECK(merged(policy, {OrderRequest::kernel_feed, ResidencyRequest::automatic, true}) ==
        LoadRequest{OrderRequest::kernel_feed, ResidencyRequest::heap, true});
  CHECK(merged(policy, {OrderRequest::automatic, ResidencyRequest::mapped, false}) ==
        LoadRequest{OrderRequest::as_stored, ResidencyRequest::mapped, false});
}

TEST_CASE("every reason has a sentence of its own") {
  std::set<std::string_view> sentences;
  for (unsigned i = 0; i <= static_cast<unsigned>(FormReason::as_packed); ++i) {
    const std::string_view sentence = to_string(static_cast<FormReason>(i));
    CHECK(sentence.size() > 1);
    sentences.insert(sentence);
  }
  CHECK(sentences.size() == static_cast<unsigned>(FormReason::as_packed) + 1);
}

TEST_CASE("what is kept as packed keeps its place, and is inflated") {
  StoredWeight weight;
  weight.weight = {"w", Shape{16, 64}, DType::f32};
  weight.codec = {"p", "q", 1};
  weight.components.resize(1);
  weight.form.residency = Residency::mapped;
  CHECK(as_packed(weight).form.residency == Residency::mapped);
  CHECK_FALSE(as_packed(weight).converts());
  weight.components[0].order = Order::rows8;
  CHECK(as_packed(weight).form.order == Order::rows8);
  weight.components[0].compression = Compression::zstd;
  const FormDecision inflated = as_packed(weight);
  CHECK(inflated.inflates);
  CHECK(inflated.form.residency == Residency::heap);
  CHECK(inflated.reason == FormReason::as_packed);
}

TEST_CASE("what is stored of a weight") {
  StoredWeight weight;
  weight.weight = {"w", Shape{16, 64}, DType::f32};
  weight.codec = {"p", "q", 1};
  weight.scheme = Scheme{.format = "p:q", .is_volatile = true};
  weight.components.resize(2);
  weight.components[0].order = Order::rows8;
  weight.components[1].order = Order::rows8;
  weight.form.orientation = Orientation::in_out;
  StoredForm stored = stored_form(weight);
  CHECK(stored.codec == "p:q");
  CHECK(stored.order == Order::rows8);
  CHECK(stored.orientation == Orientation::in_out);
  CHECK(stored.is_volatile);
  CHECK_FALSE(stored.matrix);  // nothing multiplies in_out
  CHECK_FALSE(stored.compressed);
  weight.form.orientation = Orientation::out_in;
  CHECK(stored_form(weight).matrix);
  // Without the codec its order stays, and it cannot be decoded.
  const CanProduce can = can_produce(nullptr, weight);
  CHECK_FALSE(can.rows1);
  CHECK(can.rows8);
  CHECK_FALSE(can.f32);
  CHECK(can.mapped);
  for (const Shape& shape : {Shape{}, Shape{8}, Shape{2, 3, 4}, Shape{0, 4}}) {
    weight.weight.shape = shape;
    CHECK_FALSE(stored_form(weight).matrix);
  }
  weight.components[1].compression = Compression::zstd;
  CHECK(stored_form(weight).compressed);
  CHECK_FALSE(can_produce(nullptr, weight).mapped);
  weight.codec = CodecRef::keep();
  CHECK(stored_form(weight).codec == "keep");
}

}  // namespace synps::testing
