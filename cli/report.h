#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diff_side.h"
#include "synps/checkpoint.h"
#include "synps/diff.h"
#include "synps/error_figures.h"
#include "synps/verify.h"

namespace synps::cli {

/// A weight of a report that both sides have.
struct ReportWeight {
  std::string path;
  std::string source;  ///< encoding of the reference
  std::string codec;   ///< that the other side stores it in, in short; of a kept one the source's
  std::uint64_t bytes = 0;  ///< there, without padding
  std::uint64_t elements = 0;
  bool equal = false;        ///< in value
  bool has_figures = false;  ///< else it could not be compared, or only its bytes
  ErrorFigures figures{};
};

/// A list of what else there is to say: problems, weights that only one side has.
struct ReportRemark {
  std::string title;
  std::vector<std::string> lines;
  std::uint64_t count = 0;  ///< of problems or weights; a line may stand for several
};

/// What `--report` writes: how far the weights of one file are off another's.
struct ErrorReport {
  SideSummary reference;
  SideSummary subject;
  std::vector<ReportWeight> weights;
  std::vector<ReportRemark> remarks;
  std::vector<std::string> hints{};  ///< why nothing could be compared; none where something was
};

/// Of an artifact, or a GGUF file, against the checkpoint that it was packed from.
ErrorReport report_of(const VerifyReport& report, const std::string& artifact,
                      const Checkpoint& reference);
/// Of B against A.
ErrorReport report_of(const DiffReport& report, const Checkpoint& a, const Checkpoint& b);

/// The page: one HTML file that needs no other, no network and no script. Its bytes depend on the
/// report and the files' names alone.
std::string report_html(const ErrorReport& report);

}  // namespace synps::cli
