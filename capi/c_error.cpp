#include "c_error.h"

#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "c_struct.h"
#include "synps/error.h"

struct synps_error {
  int code = SYNPS_OK;
  const char* message = "";  // of `text`, or constant
  std::string text{};
  std::vector<synps::Problem> problems{};
};

namespace synps::c {
namespace {

// Where there is no memory to describe that there is none. Never freed.
synps_error out_of_memory{SYNPS_ERROR_LIMIT, "out of memory", {}, {}};

int report_problems(synps_error** error, std::vector<Problem> problems, std::string text) {
  const int code = static_cast<int>(problems.front().code);
  if (error == nullptr) return code;
  auto made = std::make_unique<synps_error>();
  made->code = code;
  made->text = std::move(text);
  made->message = made->text.c_str();
  made->problems = std::move(problems);
  *error = made.release();
  return code;
}

int report_internal(synps_error** error, const char* what) {
  if (error == nullptr) return SYNPS_ERROR_INTERNAL;
  auto made = std::make_unique<synps_error>();
  made->code = SYNPS_ERROR_INTERNAL;
  made->text = "internal error: ";
  made->text += what;
  made->message = made->text.c_str();
  *error = made.release();
  return SYNPS_ERROR_INTERNAL;
}

int report_any(synps_error** error) {
  try {
    throw;
  } catch (const Error& fault) {
    return report_problems(error, fault.problems(), fault.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error& fault) {
    Problem problem;
    problem.code = ErrorCode::io;
    problem.what = "the operating system refused: " + fault.code().message();
    const Error as_error(problem);
    return report_problems(error, {problem}, as_error.what());
  } catch (const std::exception& fault) {
    return report_internal(error, fault.what());
  } catch (...) {
    return report_internal(error, "unknown exception");
  }
}

}  // namespace

int report(synps_error** error) noexcept {
  try {
    return report_any(error);
  } catch (...) {  // memory ran out, before or while it was described
    if (error != nullptr) *error = &out_of_memory;
    return SYNPS_ERROR_LIMIT;
  }
}

void refuse(std::string what, std::string field, std::string found, std::string want,
            std::string hint) {
  throw Error({.code = ErrorCode::usage,
               .what = std::move(what),
               .field = std::move(field),
               .found = std::move(found),
               .want = std::move(want),
               .hint = std::move(hint)});
}

}  // namespace synps::c

const char* synps_code_name(int code) {
  switch (code) {
    case SYNPS_OK:
      return "ok";
    case SYNPS_ERROR_USAGE:
      return "usage";
    case SYNPS_ERROR_CHECKPOINT:
      return "checkpoint";
    case SYNPS_ERROR_IO:
      return "io";
    case SYNPS_ERROR_ARTIFACT:
      return "artifact";
    case SYNPS_ERROR_LIMIT:
      return "limit";
    case SYNPS_ERROR_POLICY:
      return "policy";
    case SYNPS_ERROR_OUTPUT:
      return "output";
    case SYNPS_ERROR_PACKAGE:
      return "package";
    case SYNPS_ERROR_INTERNAL:
      return "internal";
    default:
      return "unknown";
  }
}

int synps_error_code(const synps_error* error) {
  return error != nullptr ? error->code : SYNPS_OK;
}

const char* synps_error_message(const synps_error* error) {
  return error != nullptr ? error->message : "";
}

void synps_error_free(synps_error* error) {
  if (error != &synps::c::out_of_memory) delete error;
}

size_t synps_error_problem_count(const synps_error* error) {
  return error != nullptr ? error->problems.size() : 0;
}

int synps_error_problem(const synps_error* error, size_t problem, synps_problem* out) {
  return synps::c::guarded(nullptr, [&] {
    if (problem >= synps_error_problem_count(error)) synps::c::refuse("no such problem");
    const synps::Problem& found = error->problems[problem];
    synps_problem full{};
    full.file = found.file.c_str();
    full.what = found.what.c_str();
    full.field = found.field.c_str();
    full.found = found.found.c_str();
    full.want = found.want.c_str();
    full.hint = found.hint.c_str();
    full.offset = found.offset.value_or(0);
    full.has_offset = found.offset ? 1 : 0;
    synps::c::write_struct(out, full, "out");
  });
}
