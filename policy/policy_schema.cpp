#include "policy_schema.h"

#include <array>

namespace synps {
namespace {

constexpr std::array kDTypes{Choice{"f32"}, Choice{"f16"}, Choice{"bf16"}};
constexpr std::array kScopes{Choice{"any"}, Choice{"constant"}, Choice{"input"}, Choice{"output"},
                             Choice{"internal"}};
constexpr std::array kLifetimes{Choice{"any"}, Choice{"immutable"}, Choice{"invocation"},
                                Choice{"session"}};
constexpr std::array kUpdates{Choice{"none"}, Choice{"whole"}, Choice{"region"}};
constexpr std::array kOrders{Choice{"auto"}, Choice{"as_stored"}, Choice{"kernel_feed"}};
constexpr std::array kPlaces{Choice{"heap"}, Choice{"mapped"}};
constexpr std::array kResidencies{Choice{"auto"}, Choice{"heap"}, Choice{"mapped"}};
constexpr std::array kOrientations{Choice{"out_in"}, Choice{"in_out"}};
constexpr std::array kCompressions{Choice{"none"}, Choice{"zstd"}, Choice{"zstd:LEVEL"}};
constexpr std::array kSames{Choice{"device"}, Choice{"dtype"}, Choice{"form"}, Choice{"format"}};
constexpr std::array kTargets{Choice{"cpu"}, Choice{"cpu-portable"}, Choice{"cpu-avx2"},
                              Choice{"cpu-neon"}, Choice{"native"}};

constexpr std::array kSchema{
    KeySpec{.section = Section::root,
            .name = "myelin",
            .type = KeyType::table,
            .inner = Section::myelin,
            .doc = "what the file as a whole needs to read the checkpoint"},
    KeySpec{.section = Section::root,
            .name = "policies",
            .type = KeyType::named,
            .inner = Section::policy,
            .doc = "one policy a pattern"},
    KeySpec{.section = Section::root,
            .name = "devices",
            .type = KeyType::named,
            .inner = Section::device,
            .doc = "devices that policies may name; `local` is built in"},
    KeySpec{.section = Section::root,
            .name = "extends",
            .doc = "a policy file to build on, relative to this one"},
    KeySpec{.section = Section::root,
            .name = "packages",
            .type = KeyType::named,
            .inner = Section::package,
            .doc = "codec packages from outside, by their names"},
    KeySpec{.section = Section::root,
            .name = "groups",
            .type = KeyType::named,
            .inner = Section::group,
            .doc = "weights that must resolve alike"},
    KeySpec{.section = Section::root,
            .name = "profiles",
            .type = KeyType::named,
            .inner = Section::profile,
            .doc = "what devices afford, besides the built-in desktop, native, edge, mobile_2gb"},

    KeySpec{.section = Section::myelin,
            .name = "formats",
            .type = KeyType::text_list,
            .doc = "encodings needed only to read the checkpoint"},

    KeySpec{.section = Section::policy,
            .name = "dtype",
            .choices = kDTypes,
            .inferred = "f32",
            .doc = "precision the graph computes in, below this path"},
    KeySpec{.section = Section::policy,
            .name = "fallback",
            .doc = "codec, or keep, where the scheme's codec cannot store a weight's shape"},
    KeySpec{.section = Section::policy,
            .name = "optional",
            .type = KeyType::boolean,
            .inferred = "false",
            .doc = "the pattern may match no weight"},
    KeySpec{.section = Section::policy,
            .name = "backend",
            .type = KeyType::table,
            .inner = Section::backend,
            .doc = "where the graph runs, below this path"},
    KeySpec{.section = Section::policy,
            .name = "schemes",
            .type = KeyType::table_list,
            .inner = Section::scheme,
            .doc = "how values are stored"},
    KeySpec{.section = Section::policy,
            .name = "form",
            .type = KeyType::table,
            .inner = Section::form,
            .doc = "the shape of the weight in memory"},
    KeySpec{.section = Section::backend,
            .name = "device",
            .inferred = "local",
            .doc = "`local`, or a name of [devices.NAME]"},

    KeySpec{.section = Section::scheme,
            .name = "scope",
            .choices = kScopes,
            .inferred = "constant",
            .doc = "which values the scheme claims"},
    KeySpec{.section = Section::scheme,
            .name = "lifetime",
            .choices = kLifetimes,
            .inferred = "immutable for constants, any for scope any, else invocation",
            .doc = "how long the values it claims live"},
    KeySpec{.section = Section::scheme,
            .name = "update",
            .choices = kUpdates,
            .inferred = "none for constants, else whole",
            .doc = "how the values it claims change"},
    KeySpec{.section = Section::scheme,
            .name = "format",
            .required = true,
            .doc = "codec, as EXPORT or PACKAGE:EXPORT, or keep"},
    KeySpec{.section = Section::scheme,
            .name = "volatile",
            .type = KeyType::boolean,
            .inferred = "false",
            .doc = "clean host pages may be discarded after an invocation"},

    KeySpec{.section = Section::form,
            .name = "order",
            .choices = kOrders,
            .inferred = "auto",
            .doc = "sequence of rows and blocks in storage"},
    KeySpec{.section = Section::form,
            .name = "residency",
            .choices = kResidencies,
            .inferred = "auto",
            .doc = "copied to the heap, or mapped from the file"},
    KeySpec{.section = Section::form,
            .name = "orientation",
            .choices = kOrientations,
            .inferred = "out_in",
            .doc = "what the two dimensions of a matrix mean"},
    KeySpec{.section = Section::form,
            .name = "compress",
            .choices = kCompressions,
            .inferred = "none",
            .doc =
                "compression of the stored components: zstd:LEVEL has a level from 1 to 19, zstd "
                "is zstd:3"},

    KeySpec{.section = Section::device,
            .name = "target",
            .choices = kTargets,
            .inferred = "cpu",
            .doc = "whose kernels the stored bytes must feed"},
    KeySpec{.section = Section::device,
            .name = "profile",
            .doc = "what the device affords: a built-in profile, or a name of [profiles.NAME]"},

    KeySpec{.section = Section::profile,
            .name = "extends",
            .doc = "a profile that holds where this one says nothing"},
    KeySpec{.section = Section::profile,
            .name = "memory",
            .type = KeyType::byte_size,
            .inferred = "what the machine that loads has available",
            .doc = "memory of the device, in bytes"},
    KeySpec{.section = Section::profile,
            .name = "reserve",
            .type = KeyType::byte_size,
            .inferred = "0",
            .doc = "bytes that are left to everything else"},
    KeySpec{.section = Section::profile,
            .name = "residency",
            .choices = kPlaces,
            .inferred = "heap",
            .doc = "where weights are for which neither policy nor caller says it"},
    KeySpec{.section = Section::profile,
            .name = "strict",
            .type = KeyType::boolean,
            .inferred = "false",
            .doc = "conversions at load that raise resident bytes are refused"},

    KeySpec{.section = Section::package,
            .name = "path",
            .required = true,
            .doc = "the shared object, relative to this file"},

    KeySpec{.section = Section::group,
            .name = "paths",
            .required = true,
            .doc = "a pattern: weights that agree on what its wildcards match are alike"},
    KeySpec{.section = Section::group,
            .name = "same",
            .type = KeyType::text_list,
            .choices = kSames,
            .inferred = "[\"format\", \"form\"]",
            .not_empty = true,
            .doc = "what must be alike"},
    KeySpec{.section = Section::group,
            .name = "optional",
            .type = KeyType::boolean,
            .inferred = "false",
            .doc = "the pattern may match no weight"},
};

}  // namespace

std::span<const KeySpec> policy_schema() noexcept {
  return kSchema;
}

const KeySpec* find_key(Section section, std::string_view name) noexcept {
  for (const KeySpec& key : kSchema)
    if (key.section == section && key.name == name) return &key;
  return nullptr;
}

const Choice* find_choice(const KeySpec& key, std::string_view value) noexcept {
  constexpr std::string_view kParameter = ":LEVEL";
  for (const Choice& choice : key.choices) {
    if (choice.value == value) return &choice;
    if (!choice.value.ends_with(kParameter)) continue;
    if (value.starts_with(choice.value.substr(0, choice.value.find(':') + 1))) return &choice;
  }
  return nullptr;
}

std::string_view section_header(Section section) noexcept {
  switch (section) {
    case Section::root:
      return "the file's top level";
    case Section::myelin:
      return "[myelin]";
    case Section::policy:
      return "[policies.\"PATTERN\"]";
    case Section::backend:
      return "[policies.\"PATTERN\".backend]";
    case Section::scheme:
      return "[[policies.\"PATTERN\".schemes]]";
    case Section::form:
      return "[policies.\"PATTERN\".form]";
    case Section::device:
      return "[devices.NAME]";
    case Section::package:
      return "[packages.NAME]";
    case Section::group:
      return "[groups.NAME]";
    case Section::profile:
      return "[profiles.NAME]";
  }
  return "";
}

std::string_view type_wanted(KeyType type) noexcept {
  switch (type) {
    case KeyType::text:
      return "a string";
    case KeyType::boolean:
      return "a boolean";
    case KeyType::byte_size:
      return "an integer, or a string such as \"700MiB\"";
    case KeyType::text_list:
      return "an array of strings";
    case KeyType::table:
    case KeyType::named:
      return "a table";
    case KeyType::table_list:
      return "an array of tables";
  }
  return "";
}

}  // namespace synps
