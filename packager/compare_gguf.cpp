#include "compare_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "error_sums.h"
#include "gguf_key_plan.h"
#include "gguf_values.h"
#include "pieces.h"
#include "synps/checked.h"
#include "synps/plan.h"
#include "value_problems.h"

namespace synps {

std::uint64_t tensor_compare_buffers(const std::vector<SourceTensor>& tensors,
                                     const CodecRegistry& codecs) {
  std::uint64_t floats = 0;
  for (const SourceTensor& tensor : tensors) {
    const Codec* codec = source_codec(codecs, weight_facts(tensor));
    if (codec == nullptr) continue;
    const std::uint64_t piece =
        largest_piece(tensor.weight, tensor.weight.shape.elements(), codec->row_granule());
    floats = std::max(floats, saturating_mul(piece, sizeof(float)));
  }
  // Of both: values, and a reader's bytes and values of blocks; or bytes that are compared.
  return saturating_add(saturating_mul(floats, 2 * 3), 2 * kCopyBytes);
}

auto TensorComparer::compare_bytes(const SourceTensor& source, const SourceTensor& stored)
    -> std::optional<Difference> {
  for (std::uint64_t at = 0; at < source.bytes;) {
    const std::uint64_t size = std::min(kCopyBytes, source.bytes - at);
    const std::span<std::byte> of_source = source_reader_.buffer().take(size);
    const std::span<std::byte> of_stored = stored_reader_.buffer().take(size);
    checkpoint_.read(source, at, of_source);
    written_.read(stored, at, of_stored);
    progress_.advance(2 * size);
    const auto [a, b] = std::mismatch(of_source.begin(), of_source.end(), of_stored.begin());
    if (a != of_source.end())
      return Difference{
          fmt::format("byte {}", at + static_cast<std::uint64_t>(a - of_source.begin())),
          fmt::format("0x{:02x}", std::to_integer<unsigned>(*b)),
          fmt::format("0x{:02x}", std::to_integer<unsigned>(*a))};
    at += size;
  }
  return std::nullopt;
}

auto TensorComparer::compare_values(const SourceTensor& source, const Codec& source_codec,
                                    const SourceTensor& stored, const Codec& codec,
                                    WeightError& error) -> std::optional<Difference> {
  ErrorSums sums;
  std::optional<Difference> first;
  const Shape& shape = source.weight.shape;
  for (std::uint64_t at = 0; at < shape.elements();) {
    const Piece piece = next_piece(source.weight, at, shape.elements(), codec.row_granule());
    const std::span<float> wanted = source_values_.take(piece.elements());
    const std::span<float> found = stored_values_.take(piece.elements());
    ValueReport narrowing;  // told when packing; here it shows as an error of values
    source_reader_.read(checkpoint_, source, source_codec, piece, wanted, narrowing);
    stored_reader_.read(written_, stored, codec, piece, found, narrowing);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      sums.add(wanted[i], found[i]);
      if (!first &&
          std::bit_cast<std::uint32_t>(wanted[i]) != std::bit_cast<std::uint32_t>(found[i]))
        first = Difference{"element " + element_text(shape, at + i), value_text(found[i]),
                           value_text(wanted[i])};
    }
    at += piece.elements();
    progress_.advance(source.bytes_of(piece.elements()) + stored.bytes_of(piece.elements()));
  }
  sums.store(error);
  return first;
}

Problem TensorComparer::problem(const SourceTensor& stored, std::string what, std::string found,
                                std::string want) const {
  return {.code = ErrorCode::artifact,
          .file = written_.files()[stored.file].path(),
          .what = std::move(what),
          .field = stored.weight.path,
          .found = std::move(found),
          .want = std::move(want)};
}

TensorComparison TensorComparer::compare(const SourceTensor& source, const SourceTensor& stored) {
  TensorComparison result;
  WeightError& error = result.error;
  error.path = stored.weight.path;
  const Codec* from = source_codec(codecs_, weight_facts(source));
  const Codec* codec = source_codec(codecs_, weight_facts(stored));
  error.codec = codec != nullptr ? codec->info().id() : CodecRef::keep().id();
  const bool copied = source.encoding == stored.encoding;
  const bool decodes = from != nullptr && codec != nullptr;
  error.lossless =
      copied || (codec != nullptr && codec->info().stores_exactly(source.weight.dtype));
  if (source.weight.shape != stored.weight.shape || (!copied && !decodes)) {
    error.compared = error.exact = false;
    const auto text = [](const SourceTensor& tensor) {
      return fmt::format("{} {}", tensor.encoding, tensor.weight.shape.to_string());
    };
    result.problem =
        problem(stored, "the weight is not the checkpoint's", text(stored), text(source));
    return result;
  }
  error.compared = decodes;
  std::optional<Difference> difference =
      copied ? compare_bytes(source, stored) : compare_values(source, *from, stored, *codec, error);
  // Only for how far it is off: equal values do not make unequal bytes equal.
  if (copied && difference && decodes) compare_values(source, *from, stored, *codec, error);
  error.exact = !difference;
  if (difference && error.lossless)
    result.problem =
        problem(stored, "a lossless weight differs from its source at " + difference->where,
                difference->stored, difference->source);
  return result;
}

namespace {

/// Compares two sequences of key-values that are the same but for what may change.
class KeyComparer {
 public:
  KeyComparer(const Checkpoint& checkpoint, const Checkpoint& written)
      : checkpoint_(checkpoint), written_(written) {}

  std::vector<Problem> run();

 private:
  static std::vector<const SourceKeyValue*> kept(const Checkpoint& checkpoint) {
    std::vector<const SourceKeyValue*> all;
    for (const SourceKeyValue& each : checkpoint.key_values())
      if (!may_change_in_gguf(each.value.key)) all.push_back(&each);
    std::sort(all.begin(), all.end(), [](const SourceKeyValue* a, const SourceKeyValue* b) {
      return a->value.key < b->value.key;
    });
    return all;
  }
  void report(std::string what, const SourceKeyValue& value, bool of_written) {
    Problem problem{.code = ErrorCode::artifact, .file = written_.path()};
    problem.what = std::move(what);
    problem.field = "key " + quote(value.value.key);
    if (of_written) problem.offset = value.value.offset;
    problems_.push_back(std::move(problem));
  }
  void compare_values();
  void compare_sequence();

  const Checkpoint& checkpoint_;
  const Checkpoint& written_;
  std::vector<Problem> problems_;
};

void KeyComparer::compare_values() {
  const std::vector<const SourceKeyValue*> wanted = kept(checkpoint_);
  const std::vector<const SourceKeyValue*> found = kept(written_);
  std::size_t w = 0;
  std::size_t f = 0;
  while (w < wanted.size() || f < found.size()) {
    const int order = w == wanted.size()  ? 1
                      : f == found.size() ? -1
                                          : wanted[w]->value.key.compare(found[f]->value.key);
    if (order < 0) {
      report("the checkpoint's key-value is not in the file", *wanted[w++], false);
    } else if (order > 0) {
      report("the key-value is not in the checkpoint", *found[f++], true);
    } else {
      if (!same_gguf_value(checkpoint_.files()[wanted[w]->file], wanted[w]->value,
                           written_.files()[found[f]->file], found[f]->value))
        report("the key-value is not the checkpoint's", *found[f], true);
      ++w;
      ++f;
    }
  }
}

/// Where both have the same keys, they are in the same sequence.
void KeyComparer::compare_sequence() {
  auto at = written_.key_values().begin();
  const auto skip = [&] {
    at = std::find_if(at, written_.key_values().end(), [](const SourceKeyValue& each) {
      return !may_change_in_gguf(each.value.key);
    });
  };
  for (const SourceKeyValue& each : checkpoint_.key_values()) {
    if (may_change_in_gguf(each.value.key)) continue;
    skip();
    if (at->value.key != each.value.key) {
      report("the key-value is out of the checkpoint's sequence", *at, true);
      return;
    }
    ++at;
  }
}

std::vector<Problem> KeyComparer::run() {
  compare_values();
  if (problems_.empty()) compare_sequence();
  return std::move(problems_);
}

}  // namespace

std::vector<Problem> compare_key_values(const Checkpoint& checkpoint, const Checkpoint& written) {
  return KeyComparer(checkpoint, written).run();
}

}  // namespace synps
