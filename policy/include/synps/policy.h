#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "synps/codec_registry.h"
#include "synps/error.h"
#include "synps/form.h"
#include "synps/kernel.h"
#include "synps/os.h"
#include "synps/output_kind.h"
#include "synps/packed_form.h"
#include "synps/path_pattern.h"
#include "synps/profile.h"
#include "synps/scheme.h"
#include "synps/shared_list.h"
#include "synps/weight.h"

namespace synps {

/// A place in a policy file; line and column are 1-based, the column in code points.
struct SourcePlace {
  std::uint32_t line = 0;  ///< 0: nowhere
  std::uint32_t column = 0;
  std::uint32_t source = 0;  ///< index into Policy::files(): 0 is the file itself, then its bases

  bool operator==(const SourcePlace&) const = default;
};

/// What a file said that was replaced by one that extends it.
struct ReplacedValue {
  std::string value;  ///< of the key, or the scheme's format
  SourcePlace place;
};

/// One key of a policy, as written.
struct PolicyKey {
  std::string name;   ///< "dtype", "fallback", "form.compress", "form.order", "form.residency",
                      ///< "form.orientation", "backend.device"
  std::string value;  ///< normalised: codecs qualified ("q8_0:q8_0"), enum names as documented,
                      ///< zstd with its level
  SourcePlace place;
  std::vector<ReplacedValue> replaced{};  ///< the last replaced first
};

struct PolicyScheme {
  Scheme scheme;
  SourcePlace place;
  std::vector<ReplacedValue> replaced{};  ///< the last replaced first
};

/// `[policies."PATTERN"]`: what the file and its bases say under one pattern.
struct PolicyEntry {
  PathPattern pattern;
  SourcePlace place;                  ///< of the pattern, in the outermost file that has it
  std::vector<PolicyKey> keys;        ///< by name
  std::vector<PolicyScheme> schemes;  ///< by place
  bool optional = false;              ///< may match no weight

  bool has_constant_scheme() const noexcept;
  /// Whether only bases have it: they may speak of weights that this checkpoint lacks.
  bool is_inherited() const noexcept { return place.source != 0; }
};

/// `[groups.NAME]`: weights that must resolve alike where they agree on what the wildcards of
/// `paths` matched, and on everything below.
struct PolicyGroup {
  std::string name;
  SourcePlace place;  ///< of the name
  PathPattern paths;
  SourcePlace paths_place;        ///< of the pattern
  std::vector<std::string> same;  ///< of "format", "form", "dtype", "device"; each once, sorted
  bool optional = false;          ///< may match no weight

  bool is_inherited() const noexcept { return place.source != 0; }
};

/// `[packages]`: an entry.
struct PolicyPackage {
  std::string name;
  std::string path;  ///< relative ones joined to the folder of the file that names them
  SourcePlace place;
  bool overridden = false;  ///< another of this name was given before the file was read
};

/// `[profiles.NAME]`, with what it extends.
struct PolicyProfile {
  Profile profile;
  std::string extends;  ///< the profile that it names; "" for none
  SourcePlace place;    ///< of the name
};

/// `[devices.NAME]`.
struct PolicyDevice {
  std::string name;
  TargetRequest target = TargetRequest::cpu;  ///< whose kernels the stored bytes must feed
  std::optional<Profile> profile{};           ///< none: what holds where the device has none
  SourcePlace place{};                        ///< of the name
};

/// A weight as policy resolution sees it.
struct WeightFacts {
  Weight weight;
  /// Of the source: "bf16", "i64", "q8_0:q8_0", …, as `[myelin].formats` names it; "" for the
  /// dtype's.
  std::string encoding;
  std::uint64_t bytes = 0;  ///< in the source; 0: what the dtype takes
  /// The weight that this one is the scale of; "" for all others. A scale goes with its weight:
  /// into its values when they are decoded, and else kept beside it. No policy is needed for it.
  std::string scale_of{};
  std::string_view packed_as{};  ///< the scheme of another tool that it is a part of; a literal
  bool only_kept = false;  ///< it must not be decoded, for it means something only with others
  bool declared = false;   ///< whoever gives the facts has named the encoding: an artifact's index
  Order order = Order::rows1;  ///< of the source: what `as_stored` keeps

  /// The encoding, never "".
  std::string source() const;
  /// Whether a policy has to say how it is stored: a float that is no weight's scale.
  bool needs_scheme() const noexcept { return dtype_is_float(weight.dtype) && scale_of.empty(); }
};

/// The codec that decodes a weight's source encoding, or null when none of these does.
const Codec* source_codec(const CodecRegistry& codecs, const WeightFacts& facts) noexcept;

/// The refusal of a weight whose encoding no codec here decodes, and whose values are wanted: what
/// and field, of code policy.
Problem cannot_decode(const WeightFacts& facts, const CodecRegistry& codecs);

/// "\"a.weight\"", or "3 weights, such as \"a.weight\"": of problems that are told once for many.
std::string affected_weights(std::size_t count, std::string_view example);

/// Who decided a key, and whom it overrode.
struct KeyDecision {
  std::string key;                      ///< a PolicyKey name, or "format" for the scheme
  std::string value;                    ///< "q8_0:q8_0", "mapped", "zstd:3", …
  const PolicyEntry* policy = nullptr;  ///< null: no policy set it; the documented default holds,
                                        ///< or what the caller gave
  bool given = false;                   ///< by the caller: ResolveOptions::compress
  std::vector<const PolicyEntry*> agreeing{};  ///< all the narrowest that set it, `policy` first
  std::vector<const PolicyEntry*> overridden;  ///< broader policies that set it too, widest first
  SourcePlace place{};  ///< of the key or scheme that decided; line 0 when nobody set it
  std::vector<SourcePlace> overridden_places{};  ///< of theirs, in the order of `overridden`
  std::vector<ReplacedValue> replaced{};  ///< what the deciding policy said in a file that is
                                          ///< extended, the last replaced first
};

/// What became of one scheme of a policy that covers a path.
struct SchemeVerdict {
  enum class Outcome : std::uint8_t {
    chosen,
    agrees,         ///< another policy's scheme says the same and counts as chosen
    other_values,   ///< claims values of another scope or lifetime
    less_specific,  ///< `by` of the same policy claims the value more specifically
    overridden,     ///< `by_policy` is narrower
  };
  const PolicyEntry* policy = nullptr;
  const PolicyScheme* scheme = nullptr;
  Outcome outcome = Outcome::chosen;
  const PolicyEntry* by_policy = nullptr;  ///< null for chosen and other_values
  const PolicyScheme* by = nullptr;        ///< of by_policy
};

/// What a policy says about one weight. Lives as long as its Policy.
struct WeightResolution {
  bool needs_scheme = true;  ///< false: not a float, or the scale of one that goes with its weight:
                             ///< kept as stored whatever the policy says
  bool told_to_keep = false;  ///< a scheme says "keep", whether one is needed or not
  bool keep = false;          ///< stored as the source has it (format "keep", or no scheme needed)
  const Codec* codec = nullptr;  ///< null exactly when keep
  bool used_fallback = false;
  std::string fallback_reason;   ///< why the scheme's codec was not used
  std::optional<Scheme> scheme;  ///< its format is the asked one, before any fallback
  std::string dtype = "f32";     ///< dtype the graph computes in
  FormRequest form;
  std::string device = "local";
  std::string warning;                ///< what is allowed but most likely not meant; "" for nothing
  SharedList<KeyDecision> decisions;  ///< by key; "format" included when there is one
  SharedList<const PolicyEntry*> policies;  ///< all that cover the path, widest first
  /// Of all those, in their order; only by explain(), and not for a weight whose format is
  /// ambiguous and does not matter because it is no float.
  std::vector<SchemeVerdict> schemes;
};

struct ResolveOptions {
  bool allow_unmatched = false;               ///< policies and groups may match no weight
  std::optional<CompressRequest> compress{};  ///< for weights for which no policy sets it
  OutputKind output = OutputKind::artifact;   ///< what it holds no format or form for is a problem
  /// What an order that it cannot have is a problem for; null: any order can be had.
  const PackTargets* target = nullptr;
};

/// Gives the codecs of a package; throws Error(package).
using PackageLoader = std::function<std::vector<std::shared_ptr<const Codec>>(
    const std::string& name, const std::string& path)>;

struct PolicyOptions {
  PackageLoader load_package{};               ///< empty: load_codec_package
  std::vector<std::string> given_packages{};  ///< packages among `codecs` that win over those of
                                              ///< the same name in the file
  Os* os = nullptr;                           ///< null: the operating system's
};

/// The value that explain() asks about.
struct ExplainRequest {
  const WeightFacts* facts = nullptr;         ///< of the weight at the path, when there is one
  Scope scope = Scope::constant;              ///< never `any`
  Lifetime lifetime = Lifetime::immutable;    ///< never `any`
  std::optional<CompressRequest> compress{};  ///< as in ResolveOptions
  OutputKind output = OutputKind::artifact;   ///< as in ResolveOptions
  const PackTargets* target = nullptr;        ///< as in ResolveOptions
};

/// A scheme for values that are not constants, under the policy that has it.
struct PolicyValueScheme {
  const PolicyEntry* policy = nullptr;
  const PolicyScheme* scheme = nullptr;
};

/// A parsed, valid synps.toml, with the files it extends.
class Policy {
 public:
  /// Throws Error with every problem of the file and its bases (code policy, limit, package, or io
  /// for a base), each with its place. `file` is for messages, and its folder for relative paths.
  /// `codecs` is copied; the codecs of `[packages]` join the copy.
  static Policy parse(std::string text, std::string file, const CodecRegistry& codecs,
                      const PolicyOptions& options = {});
  /// Throws also Error(io). Files over 1 MiB are an Error(limit).
  static Policy load(const std::string& path, const CodecRegistry& codecs,
                     const PolicyOptions& options = {});

  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;
  ~Policy();

  /// The file itself, as it was named.
  const std::string& file() const noexcept;
  /// The file itself, then the files it extends, the nearest first.
  const std::vector<std::string>& files() const noexcept;
  const std::string& file_of(const SourcePlace& place) const { return files().at(place.source); }
  const std::vector<PolicyEntry>& entries() const noexcept;     ///< by place
  const std::vector<PolicyGroup>& groups() const noexcept;      ///< by place
  const std::vector<PolicyPackage>& packages() const noexcept;  ///< by name
  const std::vector<PolicyProfile>& profiles() const noexcept;  ///< own ones, by name
  /// The profile of that name, own or built in.
  std::optional<Profile> profile(std::string_view name) const;
  /// The device of that name; `local`, which is built in, has the target cpu and no profile.
  std::optional<PolicyDevice> device(std::string_view name) const;
  std::vector<PolicyDevice> devices() const;  ///< of the files, by name
  /// `[myelin].formats`: names of source encodings.
  const std::vector<std::string>& source_formats() const noexcept;
  /// Whether a source encoding counts as named: by `[myelin].formats`, as the dtype that the codec
  /// of some format or fallback stores, or because it is f32.
  bool declares(std::string_view encoding) const noexcept;
  /// All that formats may name, those of packages included. Lives as long as the policy.
  const CodecRegistry& codecs() const noexcept;

  /// Resolves every weight, in the order given. Throws Error(limit) when more than 256 policies
  /// cover one path, or deciding between them takes more than a fixed number of steps; else one
  /// Error with all problems: ambiguities, uncovered weights, policies and groups that match
  /// nothing, groups whose members differ, undeclared source encodings, codecs that do not support
  /// a weight. Problems that are the same for many weights are reported once, with their number and
  /// an example.
  std::vector<WeightResolution> resolve(const std::vector<WeightFacts>& weights,
                                        const ResolveOptions& options = {}) const;
  /// The same, but adds the problems rather than throwing them: of weights that they speak of, what
  /// could be decided. Throws Error(limit).
  std::vector<WeightResolution> resolve(const std::vector<WeightFacts>& weights,
                                        const ResolveOptions& options,
                                        std::vector<Problem>& problems) const;

  /// What the policy says about a value at a path, whether or not a weight has it: support and
  /// fallback are judged only with facts, and what is wrong with the weight is then a warning.
  /// Throws Error(policy) for an ambiguity. For a path that no scheme covers, codec is null and
  /// decisions lack "format".
  WeightResolution explain(std::string_view path, const ExplainRequest& request = {}) const;

  /// The schemes for values that are not constants, in an order in which the first one that covers
  /// a path and claims a value is the one that resolution chooses for it: narrower policies before
  /// broader ones, and within one policy the more specific claims first.
  std::vector<PolicyValueScheme> value_schemes() const;

 private:
  friend struct PolicyCheck;
  struct Impl;
  explicit Policy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Everything that can be said against a policy, without throwing for it.
struct PolicyCheck {
  std::vector<Problem> problems;  ///< errors, by file and place
  std::vector<Problem> warnings;  ///< what is allowed but most likely not meant, by file and place
  std::optional<Policy> policy;   ///< when the file is sound by itself
  /// By weight; empty without weights, or when the file is not sound. Of weights that `problems`
  /// speak of, what could be decided.
  std::vector<WeightResolution> resolutions;

  /// Checks the file at `path`, and against `weights` when given (null: only by itself). Throws
  /// Error(io) when the file itself cannot be read.
  static PolicyCheck run(const std::string& path, const CodecRegistry& codecs,
                         const std::vector<WeightFacts>* weights,
                         const ResolveOptions& resolve_options = {},
                         const PolicyOptions& options = {});
};

/// `text` as a quoted TOML key, on one line and in visible characters only: what to write between
/// `[policies.` and `]`.
std::string toml_quoted_key(std::string_view text);

}  // namespace synps
