#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/codec_registry.h"
#include "synps/error.h"
#include "synps/form.h"
#include "synps/os.h"
#include "synps/path_pattern.h"
#include "synps/scheme.h"
#include "synps/weight.h"

namespace synps {

/// A place in a policy file; both 1-based, the column in code points.
struct SourcePlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// One key of a policy, as written.
struct PolicyKey {
  std::string name;   ///< "dtype", "fallback", "form.order", "form.residency", "form.orientation",
                      ///< "backend.device"
  std::string value;  ///< normalised: codecs qualified ("q8_0:q8_0"), enum names as documented
  SourcePlace place;
};

struct PolicyScheme {
  Scheme scheme;
  SourcePlace place;
};

/// `[policies."PATTERN"]`.
struct PolicyEntry {
  PathPattern pattern;
  SourcePlace place;                  ///< of the pattern
  std::vector<PolicyKey> keys;        ///< by name
  std::vector<PolicyScheme> schemes;  ///< in file order
  bool optional = false;              ///< may match no weight

  bool has_constant_scheme() const noexcept;
};

/// A weight as policy resolution sees it.
struct WeightFacts {
  Weight weight;
  std::string encoding;  ///< of the source: "bf16", "i64", …, as `[myelin].formats` names it
};

/// Who decided a key, and whom it overrode.
struct KeyDecision {
  std::string key;                      ///< a PolicyKey name, or "format" for the scheme
  std::string value;                    ///< "q8_0:q8_0", "mapped", …
  const PolicyEntry* policy = nullptr;  ///< null: nobody set it; the documented default holds
  std::vector<const PolicyEntry*> overridden;  ///< broader policies that set it too, widest first
  SourcePlace place{};  ///< of the key or scheme that decided; line 0 when nobody set it
  std::vector<SourcePlace> overridden_places{};  ///< of theirs, in the order of `overridden`
};

/// What a policy says about one weight. Lives as long as its Policy.
struct WeightResolution {
  bool needs_scheme = true;  ///< false: not a float, kept as stored whatever the policy says
  bool keep = false;         ///< stored as the source has it (format "keep", or no scheme needed)
  const Codec* codec = nullptr;  ///< null exactly when keep
  bool used_fallback = false;
  std::string fallback_reason;   ///< why the scheme's codec was not used
  std::optional<Scheme> scheme;  ///< its format is the asked one, before any fallback
  std::string dtype = "f32";     ///< dtype the graph computes in
  FormRequest form;
  std::string device = "local";
  std::string warning;  ///< what is allowed but most likely not meant; "" for nothing
  std::vector<KeyDecision> decisions;        ///< by key; "format" included when there is one
  std::vector<const PolicyEntry*> policies;  ///< all that cover the path, widest first
};

struct ResolveOptions {
  bool allow_unmatched = false;  ///< policies may match no weight
};

/// A parsed, valid synps.toml.
class Policy {
 public:
  /// Throws Error with every problem of the file (code policy, or limit), each with its place.
  /// `file` is for messages. `codecs` must outlive the policy.
  static Policy parse(std::string text, std::string file, const CodecRegistry& codecs);
  /// Throws also Error(io). Files over 1 MiB are an Error(limit).
  static Policy load(const std::string& path, const CodecRegistry& codecs, Os& os = Os::posix());

  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;
  ~Policy();

  const std::string& file() const noexcept;
  const std::vector<PolicyEntry>& entries() const noexcept;  ///< in file order
  /// `[myelin].formats`: names of source encodings.
  const std::vector<std::string>& source_formats() const noexcept;
  const CodecRegistry& codecs() const noexcept;

  /// Resolves every weight, in the order given. Throws Error(limit) when more than 256 policies
  /// cover one path, or deciding between them takes more than a fixed number of steps; else one
  /// Error with all problems: ambiguities,
  /// uncovered weights, policies that match nothing, undeclared source encodings, codecs that do
  /// not support a weight. Problems that are the same for many weights are reported once, with
  /// their number and an example.
  std::vector<WeightResolution> resolve(const std::vector<WeightFacts>& weights,
                                        const ResolveOptions& options = {}) const;

  /// What the policy says about a path, whether or not a weight has it: support and fallback are
  /// judged only when `facts` is given, and what is wrong with the weight is then a warning. Throws
  /// Error(policy) for an ambiguity. For a path that no scheme covers, codec is null and decisions
  /// lack "format".
  WeightResolution explain(std::string_view path, const WeightFacts* facts = nullptr) const;

 private:
  struct Impl;
  explicit Policy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace synps
