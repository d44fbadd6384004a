#include "synps/artifact.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <utility>

#include "artifact_codecs.h"
#include "synps/artifact_set.h"
#include "synps/builtin_codecs.h"
#include "synps/checked.h"
#include "synps/component_reader.h"
#include "synps/error.h"
#include "weight_rows.h"

namespace synps {
namespace {

// Where heap components start: as packed ones do in the file, so that code that reads them can
// rely on it wherever they are.
constexpr std::size_t kHeapAlignment = 64;

constexpr std::size_t kFramePieceBytes = 256 * 1024;

struct AlignedDelete {
  void operator()(std::byte* bytes) const noexcept {
    ::operator delete[](bytes, std::align_val_t{kHeapAlignment});
  }
};
using HeapBytes = std::unique_ptr<std::byte[], AlignedDelete>;

HeapBytes allocate_bytes(std::uint64_t size) {
  return HeapBytes(
      static_cast<std::byte*>(::operator new[](size, std::align_val_t{kHeapAlignment})));
}

// A weight as it is in this process.
struct LoadedWeight {
  const Codec* codec = nullptr;
  HeapBytes heap;                                      // null: the components are mapped
  std::vector<std::span<const std::byte>> components;  // true bytes
  std::vector<std::size_t> first_flag;                 // a component: its first chunk's flag
};

Error usage_error(const std::string& file, std::string path, std::string what, std::string found,
                  std::string want, std::string hint = {}) {
  return Error({.code = ErrorCode::usage,
                .file = file,
                .what = std::move(what),
                .field = std::move(path),
                .found = std::move(found),
                .want = std::move(want),
                .hint = std::move(hint)});
}

}  // namespace

struct WeightView::Impl {
  Impl(const std::string& path, const OpenOptions& options)
      : files(path, options.os != nullptr ? *options.os : Os::posix()),
        codecs(options.codecs != nullptr ? *options.codecs : builtin_registry()),
        verify_on_use(options.verification == Verification::first_use) {
    find_codecs();
    if (options.verification == Verification::all) verify_everything();
    place_flags();
    load();
  }

  const std::vector<StoredWeight>& stored() const noexcept { return files.index().weights; }

  void find_codecs();
  void verify_everything() const;
  void place_flags();
  void load();
  void load_to_heap(const ArtifactReader& file, const StoredWeight& weight, LoadedWeight& loaded);
  void read(const ArtifactReader& file, const StoredWeight& weight,
            const StoredComponent& component, std::span<std::byte> bytes) const;
  void inflate(const ArtifactReader& file, const StoredWeight& weight,
               const StoredComponent& component, std::span<std::byte> bytes);
  /// Compares the chunks that hold bytes [begin, end) of a component, once each.
  void verify(std::size_t weight, std::size_t component, std::uint64_t begin,
              std::uint64_t end) const;
  std::span<const std::byte> component(std::size_t weight, std::size_t i) const;

  ArtifactSet files;
  const CodecRegistry& codecs;
  bool verify_on_use;
  const ArtifactReader* inflated_file = nullptr;  // that the inflater reads
  std::optional<ComponentReader> inflater;        // while weights are loaded
  std::vector<LoadedWeight> weights;              // in the order of stored()
  // Whether a chunk's bytes have been compared. Two threads that meet an unset flag both compare,
  // which is harmless and needs no lock.
  std::unique_ptr<std::atomic<bool>[]> verified;
};

void WeightView::Impl::find_codecs() {
  weights.resize(stored().size());
  const auto found = codecs_of(files.path(), stored(), codecs);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i].codec = found[i];
}

void WeightView::Impl::verify_everything() const {
  std::vector<Problem> problems = files.check_all(&codecs);
  if (!problems.empty()) throw Error(std::move(problems));
}

void WeightView::Impl::place_flags() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (const StoredComponent& component : stored()[i].components) {
      weights[i].first_flag.push_back(count);
      count += component.chunks();
    }
  }
  if (verify_on_use) verified = std::make_unique<std::atomic<bool>[]>(count);
}

void WeightView::Impl::load() {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const StoredWeight& weight = stored()[i];
    if (weight.form.residency == Residency::heap) {
      load_to_heap(files.file_of(i), weight, weights[i]);
      continue;
    }
    for (const StoredComponent& component : weight.components)
      weights[i].components.push_back(files.file_of(i).bytes(component));
  }
  inflater.reset();
}

namespace {

std::span<const std::byte> chunk_of(std::span<const std::byte> bytes,
                                    const StoredComponent& component, std::uint64_t chunk) {
  const std::uint64_t begin = component.chunk_begin(chunk);
  return bytes.subspan(begin, component.chunk_end(chunk) - begin);
}

// Bytes that a component takes on the heap: as in the file, or inflated.
std::uint64_t loaded_size(const StoredComponent& component) {
  return component.compressed() ? component.component.bytes : component.stored_bytes;
}

// What all components of a weight take together; nothing when that does not fit 64 bits.
std::optional<std::uint64_t> loaded_size(const StoredWeight& weight) {
  std::optional<std::uint64_t> size = 0;
  for (const StoredComponent& component : weight.components) {
    const auto rounded = checked_round_up(loaded_size(component), kHeapAlignment);
    size = size && rounded ? checked_add(*size, *rounded) : std::nullopt;
  }
  return size;
}

// No memory is taken for what frames of these sizes cannot hold.
void check_frame_sizes(const ArtifactReader& reader, const StoredWeight& weight) {
  for (const StoredComponent& component : weight.components)
    for (std::uint64_t chunk = 0; component.compressed() && chunk < component.chunks(); ++chunk)
      reader.place_of(weight, component, chunk);
}

}  // namespace

// Reading is a heap weight's first use: it is verified here, and the file is not touched for it
// afterwards.
void WeightView::Impl::load_to_heap(const ArtifactReader& file, const StoredWeight& weight,
                                    LoadedWeight& loaded) {
  check_frame_sizes(file, weight);
  const std::optional<std::uint64_t> size = loaded_size(weight);
  try {
    if (!size) throw std::bad_alloc();
    loaded.heap = allocate_bytes(*size);
  } catch (const std::bad_alloc&) {
    throw Error({.code = ErrorCode::limit,
                 .file = file.path(),
                 .what = "no memory for a weight that is to be on the heap",
                 .field = weight.weight.path,
                 .found = size ? fmt::format("{} bytes", *size) : "more than 2^64 bytes"});
  }
  std::byte* next = loaded.heap.get();
  for (const StoredComponent& component : weight.components) {
    const std::span<std::byte> bytes(next, loaded_size(component));
    if (component.compressed())
      inflate(file, weight, component, bytes);
    else
      read(file, weight, component, bytes);
    loaded.components.push_back(bytes.first(component.component.bytes));
    next += checked_round_up(bytes.size(), kHeapAlignment).value();
  }
}

void WeightView::Impl::read(const ArtifactReader& file, const StoredWeight& weight,
                            const StoredComponent& component, std::span<std::byte> bytes) const {
  file.file().read(file.file_offset(component), bytes);
  if (!verify_on_use) return;
  for (std::uint64_t chunk = 0; chunk < component.chunks(); ++chunk)
    file.check_chunk(weight, component, chunk, chunk_of(bytes, component, chunk));
}

void WeightView::Impl::inflate(const ArtifactReader& file, const StoredWeight& weight,
                               const StoredComponent& component, std::span<std::byte> bytes) {
  if (inflated_file != &file) inflater.emplace(file);
  inflated_file = &file;
  std::vector<std::byte> buffer(verify_on_use ? kFramePieceBytes : 0);
  for (std::uint64_t chunk = 0; chunk < component.chunks(); ++chunk) {
    // Each frame is compared before it is trusted with the memory of its content.
    if (verify_on_use) file.read_and_check_chunk(weight, component, chunk, buffer);
    const std::uint64_t begin = component.chunk_begin(chunk);
    inflater->read(weight, component, begin,
                   bytes.subspan(begin, component.chunk_end(chunk) - begin));
  }
}

void WeightView::Impl::verify(std::size_t weight, std::size_t component, std::uint64_t begin,
                              std::uint64_t end) const {
  if (!verify_on_use || weights[weight].heap != nullptr || begin == end) return;
  const StoredComponent& stored_component = stored()[weight].components[component];
  const std::uint64_t last_chunk = stored_component.chunks() - 1;
  const std::uint64_t first = std::min(begin / stored_component.chunk_bytes, last_chunk);
  const std::uint64_t last = std::min((end - 1) / stored_component.chunk_bytes, last_chunk);
  for (std::uint64_t chunk = first; chunk <= last; ++chunk) {
    std::atomic<bool>& flag = verified[weights[weight].first_flag[component] + chunk];
    if (flag.load(std::memory_order_acquire)) continue;
    files.file_of(weight).check_chunk(stored()[weight], stored_component, chunk);
    flag.store(true, std::memory_order_release);
  }
}

std::span<const std::byte> WeightView::Impl::component(std::size_t weight, std::size_t i) const {
  const std::span<const std::byte> bytes = weights[weight].components[i];
  verify(weight, i, 0, bytes.size());
  return bytes;
}

const std::string& WeightView::path() const noexcept {
  return stored_->weight.path;
}
const Shape& WeightView::shape() const noexcept {
  return stored_->weight.shape;
}
DType WeightView::dtype() const noexcept {
  return stored_->weight.dtype;
}
const WeightForm& WeightView::form() const noexcept {
  return stored_->form;
}
std::size_t WeightView::component_count() const noexcept {
  return stored_->components.size();
}

std::span<const std::byte> WeightView::component(std::size_t i) const {
  if (i >= component_count())
    throw usage_error(impl_->files.path(), path(), "no such component", fmt::format("number {}", i),
                      fmt::format("less than {}", component_count()));
  return impl_->component(number_, i);
}

std::span<const std::byte> WeightView::component(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < component_count(); ++i) {
    const std::string& own = stored_->components[i].component.name;
    if (own == name) return impl_->component(number_, i);
    names.push_back(escape_for_display(own));
  }
  throw usage_error(impl_->files.path(), path(), "no such component", quote(name),
                    fmt::format("{}", fmt::join(names, " or ")));
}

void WeightView::decode(RowRange rows, std::span<float> out) const {
  const std::string& file = impl_->files.path();
  if (codec_ == nullptr)
    throw usage_error(file, path(), "nothing decodes this weight",
                      fmt::format("{} kept as stored", dtype_name(dtype())), "",
                      "read its bytes with component()");
  if (!range_fits(rows.first, rows.count, shape().rows()))
    throw usage_error(file, path(), "rows out of range",
                      fmt::format("{} rows from row {}", rows.count, rows.first),
                      fmt::format("rows below {}", shape().rows()));
  const std::uint64_t columns = shape().columns();
  // Cannot wrap: not more than the weight's elements.
  if (out.size() != rows.count * columns)
    throw usage_error(file, path(), "output of the wrong size",
                      fmt::format("{} values", out.size()),
                      fmt::format("{}", rows.count * columns));
  if (out.empty()) return;

  const std::vector<std::span<const std::byte>>& components = impl_->weights[number_].components;
  const Order order = stored_->form.order;
  for (std::size_t i = 0; i < component_count(); ++i) {
    RowBytesRange used{0, components[i].size()};
    if (!stored_->components[i].component.per_weight)
      used = bytes_of_rows(checked_row_blocks(*codec_, *stored_, i, components[i].size()), order,
                           rows.first, rows.count);
    impl_->verify(number_, i, used.begin, used.end);
  }
  decode_rows(*codec_, *stored_, order, components, rows.first, rows.count, out);
}

std::vector<float> WeightView::decode() const {
  // An undecodable weight is refused before memory is taken for it.
  std::vector<float> values(codec_ != nullptr ? shape().elements() : 0);
  decode({0, shape().rows()}, values);
  return values;
}

Artifact Artifact::open(const std::string& path, const OpenOptions& options) {
  Artifact artifact;
  artifact.impl_ = std::make_shared<const WeightView::Impl>(path, options);
  return artifact;
}

std::size_t Artifact::size() const noexcept {
  return impl_->stored().size();
}

WeightView Artifact::weight(std::size_t i) const {
  if (i >= size())
    throw usage_error(impl_->files.path(), "", "no such weight", fmt::format("number {}", i),
                      fmt::format("less than {}", size()));
  WeightView view;
  view.impl_ = impl_;
  view.stored_ = &impl_->stored()[i];
  view.codec_ = impl_->weights[i].codec;
  view.number_ = i;
  return view;
}

WeightView Artifact::operator[](std::string_view path) const {
  const StoredWeight* found = impl_->files.find(path);
  if (found != nullptr) return weight(static_cast<std::size_t>(found - impl_->stored().data()));
  std::vector<std::string> paths;
  for (const StoredWeight& stored : impl_->stored()) paths.push_back(stored.weight.path);
  const auto meant = nearest(path, paths);
  throw usage_error(impl_->files.path(), std::string(path), "no such weight", "", "",
                    meant ? "did you mean " + quote(*meant) + "?" : "");
}

bool Artifact::contains(std::string_view path) const noexcept {
  return impl_->files.find(path) != nullptr;
}

std::map<std::string, std::string> Artifact::metadata() const {
  return impl_->files.source_metadata();
}

const ArtifactIndex& Artifact::index() const noexcept {
  return impl_->files.index();
}

}  // namespace synps
