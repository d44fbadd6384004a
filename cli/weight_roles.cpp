#include "weight_roles.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "name_words.h"

namespace synps::cli {
namespace {

using Words = std::span<const std::string_view>;

// Words that model code uses for its parts, of whatever family. Segments are split into words
// first, so `attn` stands for `self_attn`, `attn_q`, `c_attn` and `Attn1` alike.
constexpr std::string_view kNormWords[]{"norm", "norms", "ln", "bn", "gn", "lnf", "gamma", "beta"};
constexpr std::string_view kMaskWords[]{"mask", "masked"};
constexpr std::string_view kScaleWords[]{"scale", "scales", "zeros", "absmax", "qzeros"};
constexpr std::string_view kEmbeddingWords[]{"embed", "embeds", "embedding", "embeddings", "embd",
                                             "emb",   "wte",    "wpe",       "vocab"};
constexpr std::string_view kHeadWords[]{"head",   "heads",  "classifier", "score",
                                        "logits", "output", "outputs"};
constexpr std::string_view kExpertWords[]{"expert", "experts", "exps", "shexp", "moe"};
constexpr std::string_view kLinearWords[]{"proj", "projection", "project", "linear", "lin",
                                          "fc",   "dense",      "mlp",     "conv"};
constexpr std::string_view kAttentionWords[]{"attn", "attns", "att",  "attention", "attentions",
                                             "mha",  "mhsa",  "mhca", "qkv",       "wqkv"};
constexpr std::string_view kFeedForwardWords[]{"mlp", "ffn",          "ff",  "feedforward",
                                               "fc",  "intermediate", "relu"};
// Words that say so where nothing better is in the name.
constexpr std::string_view kWeakAttentionWords[]{"query", "key", "value", "kv", "wq", "wk", "wv"};
constexpr std::string_view kWeakFeedForwardWords[]{"gate", "up", "down"};
constexpr std::string_view kLetterWords[]{"q", "k", "v", "qk"};
constexpr std::string_view kProjectionWords[]{"proj", "lin", "linear"};
// What else names the head, of the tables that share a vocabulary.
constexpr std::string_view kUnembeddingWords[]{"out", "decoder", "unembed"};

/// A vocabulary has many more rows than anything else, and than columns.
constexpr std::uint64_t kVocabularyRows = 1024;
/// Tables that share a vocabulary: embeddings, the head, and those of a second stack.
constexpr std::uint64_t kVocabularyTables = 4;
/// Kernels of convolutions are short, rows of stacked matrices are not.
constexpr std::uint64_t kKernelColumns = 16;

bool has_any(const NameSegment& segment, Words words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return has_word(segment, word); });
}

bool module_has_any(const NameWords& name, Words words) {
  return has_any(name.module(), words) || has_any(name.leaf(), words);
}

/// `rmsnorm`, `batchnorm`, and `running_mean` of the latter.
bool is_norm_name(const NameWords& name) {
  const auto is_norm = [](const NameSegment& segment) {
    return has_any(segment, kNormWords) ||
           std::any_of(segment.words.begin(), segment.words.end(), [](const std::string& word) {
             return word.size() > 4 && word.compare(word.size() - 4, 4, "norm") == 0;
           });
  };
  if (name.leaf().text == "running_mean" || name.leaf().text == "running_var") return true;
  return is_norm(name.module()) || is_norm(name.leaf());
}

/// Dimensions that are more than 1.
std::size_t true_rank(const Shape& shape) {
  return static_cast<std::size_t>(std::count_if(shape.extents().begin(), shape.extents().end(),
                                                [](std::uint64_t extent) { return extent > 1; }));
}

bool is_table(const WeightFacts& facts) {
  return dtype_is_float(facts.weight.dtype) && facts.weight.shape.rank() == 2 &&
         facts.weight.shape.elements() > 0;
}

/// `q_proj`, `k_lin`: a letter counts only beside such a word.
bool is_letter_projection(const NameSegment& segment) {
  return has_any(segment, kLetterWords) && has_any(segment, kProjectionWords);
}

/// GPT-2 stores its causal mask as `attn.bias`, of [1, 1, 1024, 1024].
bool is_mask(const NameWords& name, const Shape& shape) {
  if (module_has_any(name, kMaskWords)) return true;
  const std::vector<std::uint64_t>& extents = shape.extents();
  return has_word(name.leaf(), "bias") && extents.size() > 2 && extents.front() == 1 &&
         extents.back() == extents[extents.size() - 2];
}

Role small_role(const NameWords& name, const Shape& shape) {
  if (is_mask(name, shape)) return Role::mask;
  if (is_norm_name(name)) return Role::norm;
  if (has_any(name.leaf(), kScaleWords)) return Role::scale;
  if (name.module_has("bias") || name.leaf().text == "b") return Role::bias;
  return Role::vector;
}

class Roles {
 public:
  explicit Roles(const std::vector<WeightFacts>& weights);
  std::vector<Role> all() const;

 private:
  Role role(std::size_t i) const;
  Role role_with_rows(std::size_t i) const;
  bool is_small_table(const NameWords& name) const;
  bool is_router(const NameWords& name, const Shape& shape) const;
  bool is_convolution(const NameWords& name, const Shape& shape) const;
  bool is_embedding_name(const NameWords& name, const Shape& shape) const;
  std::optional<Role> vocabulary_role(const NameWords& name, const Shape& shape) const;
  std::optional<std::uint64_t> find_vocabulary() const;
  static Role role_inside_a_layer(const NameWords& name);

  const std::vector<WeightFacts>& weights_;
  std::vector<NameWords> names_;
  bool has_experts_ = false;
  struct Tables {
    std::uint64_t count = 0;
    bool repeated = false;  ///< one of them at least, in numbered layers
  };
  std::map<std::uint64_t, Tables> tables_by_rows_;
  std::optional<std::uint64_t> vocabulary_;  ///< rows of the tables that have one a token
};

Roles::Roles(const std::vector<WeightFacts>& weights) : weights_(weights) {
  names_.reserve(weights.size());
  for (const WeightFacts& facts : weights) {
    names_.emplace_back(facts.weight.path);
    const NameWords& name = names_.back();
    has_experts_ = has_experts_ || std::any_of(std::begin(kExpertWords), std::end(kExpertWords),
                                               [&](auto word) { return name.has(word); });
    if (!is_table(facts)) continue;
    Tables& tables = tables_by_rows_[facts.weight.shape.rows()];
    ++tables.count;
    tables.repeated = tables.repeated || name.is_repeated();
  }
  vocabulary_ = find_vocabulary();
}

/// By name where there is one, else the row count that stands out.
std::optional<std::uint64_t> Roles::find_vocabulary() const {
  std::uint64_t named = 0;
  std::uint64_t widest = 0;  // columns of the tables with the most rows
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Shape& shape = weights_[i].weight.shape;
    if (!is_table(weights_[i])) continue;
    if (is_embedding_name(names_[i], shape)) named = std::max(named, shape.rows());
    if (shape.rows() == tables_by_rows_.rbegin()->first) widest = std::max(widest, shape.columns());
  }
  if (named != 0 && tables_by_rows_.at(named).count <= kVocabularyTables) return named;
  if (tables_by_rows_.size() < 2) return std::nullopt;
  const auto [rows, tables] = *tables_by_rows_.rbegin();
  const std::uint64_t next = std::next(tables_by_rows_.rbegin())->first;
  const bool stands_out = rows >= kVocabularyRows && rows / 2 >= next && rows / 4 >= widest;
  if (!stands_out || tables.repeated || tables.count > kVocabularyTables) return std::nullopt;
  return rows;
}

std::vector<Role> Roles::all() const {
  std::vector<Role> out;
  out.reserve(weights_.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) out.push_back(role(i));
  return out;
}

Role Roles::role(std::size_t i) const {
  if (!weights_[i].needs_scheme()) return Role::not_float;
  if (true_rank(weights_[i].weight.shape) < 2)
    return small_role(names_[i], weights_[i].weight.shape);
  return role_with_rows(i);
}

Role Roles::role_with_rows(std::size_t i) const {
  const NameWords& name = names_[i];
  const Shape& shape = weights_[i].weight.shape;
  if (is_small_table(name)) {
    const Role role = small_role(name, shape);
    return role == Role::norm && module_has_any(name, kLinearWords) ? Role::vector : role;
  }
  if (is_router(name, shape)) return Role::router;
  const bool expert = std::any_of(std::begin(kExpertWords), std::end(kExpertWords),
                                  [&](auto word) { return name.has(word); });
  if (expert) return Role::expert;
  if (is_convolution(name, shape)) return Role::convolution;
  if (const auto role = vocabulary_role(name, shape)) return *role;
  if (is_embedding_name(name, shape)) return Role::embedding;
  if (!name.is_repeated() && module_has_any(name, kHeadWords)) return Role::head;
  return role_inside_a_layer(name);
}

/// Tables that are treated like vectors: norms over more than one dimension, scales a block, bias
/// tables, and the state matrix of a state-space layer, of which the exponential is used.
bool Roles::is_small_table(const NameWords& name) const {
  if (has_any(name.leaf(), kScaleWords) || name.module_has("bias")) return true;
  if (module_has_any(name, kMaskWords)) return true;
  if (name.leaf().text == "a_log") return true;
  return is_norm_name(name) && !module_has_any(name, kLinearWords);
}

bool Roles::is_router(const NameWords& name, const Shape& shape) const {
  if (shape.rank() != 2 || shape.rows() >= shape.columns()) return false;
  if (name.has("router")) return true;
  const NameSegment& module = name.module();
  return has_experts_ &&
         (module.text == "gate" || (has_word(module, "gate") && has_word(module, "inp")));
}

bool Roles::is_convolution(const NameWords& name, const Shape& shape) const {
  if (shape.rank() < 3 || shape.extents().front() == 1) return false;
  if (shape.rank() > 3) return true;
  const auto& words = name.module().words;
  return shape.columns() <= kKernelColumns ||
         std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word.compare(0, 4, "conv") == 0; });
}

bool Roles::is_embedding_name(const NameWords& name, const Shape& shape) const {
  if (!module_has_any(name, kEmbeddingWords) || module_has_any(name, kLinearWords)) return false;
  if (has_word(name.module(), "out")) return false;  // `embed_out`, the head of some models
  // In a sequence of layers (`time_embed.0`) it is a layer, not a table.
  const auto& segments = name.segments();
  const bool in_sequence = segments.size() > 2 && segments[segments.size() - 2].number;
  return !in_sequence || shape.rows() > shape.columns();
}

std::optional<Role> Roles::vocabulary_role(const NameWords& name, const Shape& shape) const {
  if (!vocabulary_ || shape.rank() != 2 || shape.rows() != *vocabulary_) return std::nullopt;
  if (is_embedding_name(name, shape)) return Role::embedding;
  if (name.is_repeated()) return std::nullopt;
  const bool head = module_has_any(name, kHeadWords) || module_has_any(name, kLinearWords) ||
                    module_has_any(name, kUnembeddingWords);
  return head ? Role::head : Role::embedding;
}

/// The part nearest to the weight decides: of `attentions.0.ff.net` the feed-forward.
Role Roles::role_inside_a_layer(const NameWords& name) {
  const auto& segments = name.segments();
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    if (has_any(*segment, kAttentionWords)) return Role::attention;
    if (has_any(*segment, kFeedForwardWords)) return Role::feed_forward;
    if (has_word(*segment, "feed") && has_word(*segment, "forward")) return Role::feed_forward;
  }
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    if (has_any(*segment, kWeakAttentionWords) || is_letter_projection(*segment))
      return Role::attention;
    const bool projection = has_any(*segment, kWeakFeedForwardWords) && has_word(*segment, "proj");
    if (projection || segment->text == "w1" || segment->text == "w2" || segment->text == "w3")
      return Role::feed_forward;
  }
  // BERT's `layer.0.output.dense`, beside `layer.0.attention.output.dense`.
  return name.is_repeated() && name.has("output") ? Role::feed_forward : Role::matrix;
}

}  // namespace

std::string_view role_title(Role role) noexcept {
  switch (role) {
    case Role::norm:
      return "Norms";
    case Role::bias:
      return "Biases";
    case Role::mask:
      return "Masks";
    case Role::router:
      return "Routers";
    case Role::scale:
      return "Scales";
    case Role::vector:
      return "Other vectors and scalars";
    case Role::embedding:
      return "Embeddings";
    case Role::head:
      return "Output head";
    case Role::attention:
      return "Attention";
    case Role::feed_forward:
      return "Feed-forward";
    case Role::expert:
      return "Experts";
    case Role::convolution:
      return "Convolutions";
    case Role::matrix:
      return "Other matrices";
    case Role::not_float:
      return "Not floats";
  }
  return {};
}

bool is_large(Role role) noexcept {
  return role >= Role::embedding && role != Role::not_float;
}

std::vector<Role> weight_roles(const std::vector<WeightFacts>& weights) {
  return Roles(weights).all();
}

}  // namespace synps::cli
