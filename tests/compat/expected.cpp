#include "expected.h"

#include <simdjson.h>

#include <stdexcept>

namespace synps::testing {
namespace {

using simdjson::dom::element;

std::string text(element value) {
  return std::string(value.get_string().value());
}

simdjson::dom::array array(element value) {
  return value.get_array().value();
}

Digest digest(element value) {
  const auto read = digest_from_hex(value.get_string().value());
  if (!read) throw std::runtime_error("expected.json: a digest that is none");
  return *read;
}

ExpectedWeight weight(element row) {
  ExpectedWeight weight;
  weight.path = text(row["path"]);
  weight.codec = text(row["codec"]);
  weight.revision = static_cast<unsigned>(row["revision"].get_uint64().value());
  weight.dtype = text(row["dtype"]);
  for (const element extent : array(row["shape"]))
    weight.shape.push_back(extent.get_uint64().value());
  weight.order = text(row["order"]);
  weight.lossless = row["lossless"].get_bool().value();
  for (const element codec : array(row["history"])) weight.history.push_back(text(codec));
  for (const element stored : array(row["stored"])) weight.stored.push_back(digest(stored));
  if (const element values = row["values"]; !values.is_null()) weight.values = digest(values);
  return weight;
}

std::vector<ExpectedArtifact> read() {
  simdjson::dom::parser parser;
  const element root = parser.load(compat_folder() + "/expected.json");
  std::vector<ExpectedArtifact> artifacts;
  const simdjson::dom::object rows = root.get_object().value();
  for (const auto& [name, row] : rows) {
    ExpectedArtifact artifact;
    artifact.name = std::string(name);
    artifact.file = compat_folder() + "/" + text(row["open"]);
    if (const element package = row["package"]; !package.is_null())
      artifact.package = text(package);
    for (const element file : array(row["files"])) artifact.files.push_back(text(file));
    for (const element each : array(row["weights"])) artifact.weights.push_back(weight(each));
    artifacts.push_back(std::move(artifact));
  }
  return artifacts;
}

}  // namespace

std::string compat_folder() {
  return SYNPS_SOURCE_DIR "/tests/compat/v1";
}

const std::vector<ExpectedArtifact>& expected_artifacts() {
  static const std::vector<ExpectedArtifact> artifacts = read();
  return artifacts;
}

}  // namespace synps::testing
