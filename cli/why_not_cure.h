#pragma once

#include <string>
#include <vector>

#include "explanation.h"
#include "why_not.h"
#include "why_not_paste.h"

namespace synps::cli {

/// What to write so that a value gets a format.
struct Cure {
  bool found = false;
  bool tried = false;  ///< what is found does what it should
  bool fits_at_end = true;
  Paste paste;
  std::vector<std::string> also_changes;
  std::vector<std::string> notes;  ///< sentences, not escaped: what there is to know about it, or
                                   ///< what is wrong with everything that was tried
};

/// `declaration` goes before the schemes; without `schemes` it has to do alone. Weights that groups
/// bind to the value get the format too; others keep theirs.
Cure find_cure(const Explanation& explanation, const std::string& format,
               const Checkpoint* checkpoint, const PolicyInput& input,
               const std::string& declaration, bool schemes);

}  // namespace synps::cli
