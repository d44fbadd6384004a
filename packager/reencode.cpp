#include "synps/reencode.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "planner.h"
#include "policy_plan.h"
#include "reencode_problems.h"
#include "synps/artifact_set.h"
#include "synps/checkpoint_findings.h"
#include "synps/conversion.h"
#include "synps/error.h"
#include "synps/pack_source.h"
#include "synps/row_order.h"
#include "synps/stored_codec.h"
#include "synps/unmatched_pattern.h"
#include "unsaid_keys.h"

namespace synps {
namespace {

/// The list with a key that whoever calls has decided, or without one.
SharedList<Decision> decided(const SharedList<Decision>& decisions,
                             const std::vector<std::string>& given, std::string_view dropped) {
  if (given.empty()) return decisions;
  std::vector<Decision> result;
  for (const Decision& decision : decisions)
    if (decision.key != dropped &&
        std::find(given.begin(), given.end(), decision.key) == given.end())
      result.push_back(decision);
  for (const std::string& key : given) result.push_back({key, ""});
  std::sort(result.begin(), result.end(),
            [](const Decision& a, const Decision& b) { return a.key < b.key; });
  return result;
}

/// Plans what is asked for without a policy.
class Reencoder {
 public:
  Reencoder(const Checkpoint& artifact, const ReencodeRequest& request, const CodecRegistry& codecs,
            Rounding rounding, const PlanOptions& options)
      : artifact_(artifact),
        request_(request),
        codecs_(codecs),
        rounding_(rounding),
        options_(options) {}

  Plan run();

 private:
  /// What is to become of a weight.
  struct Wanted {
    WeightResolution resolution;
    GivenWeight given;
  };

  bool selects(const SourceTensor& tensor) const {
    return !request_.only || request_.only->covers(tensor.weight.path);
  }
  Wanted as_it_is(const StoredWeight& stored) const;
  void change(const WeightFacts& facts, const SourceTensor& tensor, Wanted& wanted);
  bool change_codec(const WeightFacts& facts, const SourceTensor& tensor, Wanted& wanted,
                    std::vector<std::string>& given);
  void change_form(const WeightFacts& facts, const SourceTensor& tensor, bool converts,
                   Wanted& wanted, std::vector<std::string>& given);
  bool can_compress(const Wanted& wanted, std::string_view path);
  void check_selection();
  void add_problem(Problem problem, std::string_view path) {
    problem.code = ErrorCode::policy;
    problem.file = artifact_.path();
    problems_.add(std::move(problem), path);
  }

  const Checkpoint& artifact_;
  const ReencodeRequest& request_;
  const CodecRegistry& codecs_;
  const Rounding rounding_;
  const PlanOptions& options_;
  std::size_t selected_ = 0;   ///< weights
  std::size_t encodable_ = 0;  ///< of them, such as have values that may be encoded
  std::size_t labelled_ = 0;   ///< of them, such as are matrices, where a label is asked for
  std::size_t reordered_ = 0;  ///< of them, such as can have the order that is asked for
  WeightProblems problems_;
};

auto Reencoder::as_it_is(const StoredWeight& stored) const -> Wanted {
  Wanted wanted;
  WeightResolution& resolution = wanted.resolution;
  resolution.needs_scheme = stored.scheme.has_value();
  resolution.told_to_keep = true;
  resolution.keep = true;
  resolution.scheme = stored.scheme;
  resolution.dtype = stored.compute;
  resolution.form = stored.asked;
  resolution.form.compress = compress_request_of(stored);  // whatever an odd index says was asked
  resolution.device = stored.device;
  wanted.given = {stored.decisions, stored.form};
  return wanted;
}

/// Whether the weight is encoded anew.
bool Reencoder::change_codec(const WeightFacts& facts, const SourceTensor& tensor, Wanted& wanted,
                             std::vector<std::string>& given) {
  const bool has_values = facts.needs_scheme() && facts.weight.shape.elements() != 0;
  if (request_.codec == nullptr || !has_values) return false;
  ++encodable_;
  const std::string& path = facts.weight.path;
  const CodecInfo& target = request_.codec->info();
  const Codec* source = source_codec(codecs_, facts);
  if (source == request_.codec) return false;
  if (source == nullptr) {
    Problem problem = cannot_decode(facts, codecs_);
    problem.hint = "leave it as it is: --only says which weights are encoded";
    add_problem(std::move(problem), path);
    return false;
  }
  if (const Support support = request_.codec->supports(facts.weight); !support.ok) {
    Problem problem = cannot_store(target, support);
    problem.hint = "set a `fallback` in a policy, or leave these weights out with --only";
    add_problem(std::move(problem), path);
    return false;
  }
  const bool lossy =
      conversion_kind(source, *request_.codec) != ConversionKind::lossless || tensor.scale;
  if (rounding_ == Rounding::refused && lossy) {
    add_problem(would_change(source->info(), target, tensor.scale.has_value()), path);
    return false;
  }
  WeightResolution& resolution = wanted.resolution;
  resolution.keep = resolution.told_to_keep = false;
  resolution.needs_scheme = true;
  resolution.codec = request_.codec;
  if (!resolution.scheme) resolution.scheme.emplace();
  resolution.scheme->format = target.id();
  if (!target.dense && facts.weight.shape.rank() < 2)
    resolution.warning = fmt::format(
        "{} for a vector, most often a norm or a bias, which few programs expect; leave such "
        "weights "
        "out with --only",
        CodecRegistry::short_name(target));
  given.emplace_back("format");
  return true;
}

/// Nothing that is compressed can be mapped.
bool Reencoder::can_compress(const Wanted& wanted, std::string_view path) {
  if (request_.compress->method == Compression::none) return true;
  const bool is_volatile = wanted.resolution.scheme && wanted.resolution.scheme->is_volatile;
  if (!is_volatile && wanted.resolution.form.residency != ResidencyRequest::mapped) return true;
  Problem problem{.what = "a contradiction: compressed, and to be mapped from the file"};
  problem.field = "form.compress";
  problem.found = fmt::format("compress = \"{}\" and {}", to_string(*request_.compress),
                              is_volatile ? "volatile = true" : "residency = \"mapped\"");
  problem.hint = "leave these weights out with --only";
  add_problem(std::move(problem), path);
  return false;
}

void Reencoder::change_form(const WeightFacts& facts, const SourceTensor& tensor, bool converts,
                            Wanted& wanted, std::vector<std::string>& given) {
  FormRequest& asked = wanted.resolution.form;
  if (request_.compress && can_compress(wanted, facts.weight.path)) {
    asked.compress = *request_.compress;
    given.emplace_back("form.compress");
  }
  if (request_.orientation && facts.weight.shape.rank() == 2) {
    ++labelled_;
    asked.orientation = *request_.orientation;
    given.emplace_back("form.orientation");
  }
  const PackSource source = pack_source(codecs_, facts, wanted.resolution);
  const PackTarget& target = options_.target.of(wanted.resolution.device);
  PackedForm packed = resolve_packed_form(asked, source, target);
  if (converts && packed.fault != OrderFault::none) {
    asked.order = OrderRequest::automatic;  // it was asked of another codec
    packed = resolve_packed_form(asked, source, target);
  }
  WeightForm form = *wanted.given.form;
  if (converts) {
    form = packed.form;
    if (!target.profile) form.residency = wanted.given.form->residency;
    if (source.rows8 && !options_.order_for_target) form.order = tensor.stored->form.order;
  }
  form.orientation = asked.orientation;
  if (source.compression != compression_of(*tensor.stored)) form.residency = packed.form.residency;
  if (request_.order && (*request_.order == Order::rows1 || source.rows8)) {
    ++reordered_;
    form.order = *request_.order;
    if (asked.order == OrderRequest::kernel_feed) asked.order = OrderRequest::automatic;
    given.emplace_back("form.order");
  } else if (request_.order) {
    form.order = Order::rows1;
  }
  wanted.given.form = form;
}

void Reencoder::change(const WeightFacts& facts, const SourceTensor& tensor, Wanted& wanted) {
  ++selected_;
  std::vector<std::string> given;
  const bool converts = change_codec(facts, tensor, wanted, given);
  change_form(facts, tensor, converts, wanted, given);
  wanted.given.decisions =
      decided(wanted.given.decisions, given, converts ? std::string_view("fallback") : "");
}

void Reencoder::check_selection() {
  if ((request_.only && selected_ == 0) || (request_.codec != nullptr && encodable_ == 0)) {
    Problem problem{.code = ErrorCode::policy, .file = artifact_.path()};
    problem.what = selected_ == 0  ? "the pattern matches no weight"
                   : request_.only ? "the pattern matches no weight that has values to encode"
                                   : "no weight has values to encode";
    if (request_.only) problem.field = request_.only->text();
    std::vector<std::string_view> paths;
    for (const SourceTensor& tensor : artifact_.tensors()) paths.push_back(tensor.weight.path);
    if (request_.only && selected_ == 0)
      problem.hint = hint_for_unmatched(*request_.only, paths, "`synps inspect` lists the paths");
    throw Error(std::move(problem));
  }
  if (artifact_.tensors().empty()) return;
  if (request_.orientation && labelled_ == 0)
    throw Error({.code = ErrorCode::policy,
                 .file = artifact_.path(),
                 .what = "no weight can have the orientation",
                 .field = "form.orientation",
                 .found = std::string(to_string(*request_.orientation)),
                 .want = "a matrix"});
  if (!request_.order || reordered_ != 0) return;
  throw Error({.code = ErrorCode::policy,
               .file = artifact_.path(),
               .what = "no weight can have the order",
               .field = "form.order",
               .found = std::string(to_string(*request_.order)),
               .want = fmt::format("a matrix of {} rows or more, in a codec of blocks, with more "
                                   "than one block a row",
                                   kOrderRows)});
}

Plan Reencoder::run() {
  if (request_.codec != nullptr && !request_.codec->info().encodes) {
    Problem problem = cannot_encode(request_.codec->info());
    problem.file = artifact_.path();
    throw Error(std::move(problem));
  }
  const std::vector<WeightFacts> facts = weight_facts(artifact_);
  std::vector<WeightResolution> resolutions;
  std::vector<GivenWeight> given;
  resolutions.reserve(facts.size());
  given.reserve(facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const SourceTensor& tensor = artifact_.tensors()[i];
    Wanted wanted = as_it_is(*tensor.stored);
    if (selects(tensor)) change(facts[i], tensor, wanted);
    resolutions.push_back(std::move(wanted.resolution));
    given.push_back(std::move(wanted.given));
  }
  std::vector<Problem> problems;
  problems_.move_to(problems);
  if (!problems.empty()) throw Error(std::move(problems));
  check_selection();
  if (auto faults = faults_left(artifact_, resolutions); !faults.empty())
    throw Error(std::move(faults));

  Planner planner(artifact_, codecs_, artifact_.artifact()->index().values, options_);
  for (std::size_t i = 0; i < resolutions.size(); ++i) {
    const auto weight = artifact_.tensors()[i].scale_of;
    if (!weight || planner.keeps(*weight, resolutions[*weight]))
      planner.add(i, resolutions[i], &given[i]);
  }
  resolutions = {};  // as large as the plan, and done with before the layout needs memory
  given = {};
  Plan plan = planner.finish();
  cut_plan(plan, artifact_, codecs_, options_);
  return plan;
}

void check_artifact(const Checkpoint& artifact, const PlanOptions& options) {
  check_output_kind(artifact, options.output);
  if (artifact.artifact() != nullptr) return;
  throw Error({.code = ErrorCode::usage,
               .file = artifact.path(),
               .what = "only an artifact is encoded anew",
               .found = "a checkpoint",
               .hint = "pack it"});
}

}  // namespace

Plan plan_reencode(const Checkpoint& artifact, const ReencodeRequest& request,
                   const CodecRegistry& codecs, Rounding rounding, const PlanOptions& options) {
  check_artifact(artifact, options);
  return Reencoder(artifact, request, codecs, rounding, options).run();
}

Plan plan_reencode(const Checkpoint& artifact, const Policy& policy, Rounding rounding,
                   const PlanOptions& options) {
  check_artifact(artifact, options);
  std::vector<WeightResolution> resolutions = resolve_all(artifact, policy, options);
  std::vector<GivenWeight> given = keep_unsaid(artifact, policy.codecs(), options, resolutions);
  Plan plan = plan_resolved(artifact, policy, std::move(resolutions), std::move(given), options);
  std::vector<Problem> problems;
  if (rounding == Rounding::refused) add_roundings(plan, policy, problems);
  if (!problems.empty()) throw Error(std::move(problems));
  return plan;
}

}  // namespace synps
