/* Artifacts of synps in C: C99, and C++. docs/runtime.md, "From C", is the guide.
 *
 * Errors. Functions that can fail return a status: SYNPS_OK, or a code. With `error` not null they
 * then store an object there that says more; the caller frees it with synps_error_free(). On
 * success they store a null pointer there, so an object is never kept by accident. What a failing
 * function would have stored elsewhere is unspecified. No C++ exception leaves a function.
 *
 * Ownership. What synps_open() and synps_pool_create() give is freed with synps_close() and
 * synps_pool_free(). Every other pointer that a function gives (texts, shapes, bytes) belongs to
 * the artifact, stays valid and unchanged until it is closed, and is not to be freed. Texts are
 * UTF-8 and end with a NUL. Arguments are the caller's; no function keeps a pointer to them after
 * it returns, but for the pool of an executor.
 *
 * Structures, but those that are frozen, start with `struct_size`, which the caller sets to sizeof
 * the structure as its header has it. They only grow at their end: a program built with an older
 * header works with a newer library. In a structure that the caller fills, all fields as zeros are
 * the defaults, so it is cleared first; a field that the library does not know must be zero. Of a
 * structure that the library fills, it writes the caller's `struct_size` bytes and no more.
 *
 * Threads. All functions on an open artifact may be called from any number of threads at once, but
 * for synps_close(), which is the last one.
 *
 * Units. Rows, columns, elements and vectors are counts; sizes of arrays of float count floats;
 * everything named bytes is bytes.
 */
#ifndef SYNPS_H
#define SYNPS_H

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming,modernize-*): C names for C programs */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SYNPS_API __attribute__((visibility("default")))
#else
#define SYNPS_API
#endif

/* Of this header. */
#define SYNPS_VERSION_MAJOR 0
#define SYNPS_VERSION_MINOR 1
#define SYNPS_VERSION_PATCH 0
#define SYNPS_VERSION "0.1.0"
/* Changes when a program built with an older header would not work; the library's soname has it. */
#define SYNPS_ABI_VERSION 0

/* Of the library: "0.1.0". */
SYNPS_API const char* synps_version(void);
SYNPS_API uint32_t synps_abi_version(void);

/* ---- Errors ---- */

/* Status of a call; the numbers are the exit codes of the command line, and are frozen. */
enum {
  SYNPS_OK = 0,
  SYNPS_ERROR_USAGE = 2, /* a call that makes no sense: a null pointer, a size that does not fit */
  SYNPS_ERROR_CHECKPOINT = 3,
  SYNPS_ERROR_IO = 4,       /* the system refused to read */
  SYNPS_ERROR_ARTIFACT = 5, /* a file that is no sound artifact */
  SYNPS_ERROR_LIMIT = 6,    /* does not fit the budget, a limit, or memory */
  SYNPS_ERROR_POLICY = 7,
  SYNPS_ERROR_OUTPUT = 8,
  SYNPS_ERROR_PACKAGE = 9,  /* a codec is missing, or a codec package misbehaves */
  SYNPS_ERROR_INTERNAL = 70 /* a fault of synps itself */
};

/* "usage", "io", …; "unknown" for another number. Never null. */
SYNPS_API const char* synps_code_name(int code);

typedef struct synps_error synps_error;

/* The status that came with it. SYNPS_OK for null. */
SYNPS_API int synps_error_code(const synps_error* error);
/* All problems, one a line, for people. Valid until the error is freed. "" for null. */
SYNPS_API const char* synps_error_message(const synps_error* error);
/* Frees an error; null does nothing. */
SYNPS_API void synps_error_free(synps_error* error);

/* One problem of an error, in its parts; "" where there is nothing to say. */
typedef struct synps_problem {
  size_t struct_size;
  const char* file;
  const char* what;  /* the fault */
  const char* field; /* weight, component or field that it is in */
  const char* found;
  const char* want;
  const char* hint; /* what to do about it */
  uint64_t offset;  /* bytes, in the file */
  uint32_t has_offset;
  uint32_t reserved;
} synps_problem;

SYNPS_API size_t synps_error_problem_count(const synps_error* error); /* 0 for null */
/* Texts are valid until the error is freed. */
SYNPS_API int synps_error_problem(const synps_error* error, size_t problem, synps_problem* out);

/* ---- Opening ---- */

typedef struct synps_artifact synps_artifact;

/* When checksums are compared. */
enum {
  SYNPS_VERIFY_FIRST_USE = 0, /* those of a component's pieces when something first reads them */
  SYNPS_VERIFY_NEVER = 1,
  SYNPS_VERIFY_ALL = 2 /* those of the whole file, when it opens */
};

/* Where a weight's bytes are. */
enum {
  SYNPS_RESIDENCY_AUTO = 0, /* in requests: as policy and profile say */
  SYNPS_RESIDENCY_HEAP = 1,
  SYNPS_RESIDENCY_MAPPED = 2
};

/* The order that is asked for. */
enum {
  SYNPS_REQUEST_ORDER_AUTO = 0,
  SYNPS_REQUEST_ORDER_AS_STORED = 1,
  SYNPS_REQUEST_ORDER_KERNEL_FEED = 2 /* what the kernels here run fastest on */
};

/* What the device affords. */
typedef struct synps_profile {
  size_t struct_size;
  const char* name;          /* for messages; null: "custom" */
  uint64_t memory_bytes;     /* of the device */
  uint32_t has_memory_bytes; /* 0: what this machine has available */
  uint32_t residency;        /* where neither policy nor caller asks for another; AUTO: heap */
  uint64_t reserve_bytes;    /* left to everything else */
  uint32_t strict;           /* conversions that raise resident bytes are refused */
  uint32_t reserved;
} synps_profile;

/* What is asked for one weight, or for all below a path. The size of this structure is frozen. */
typedef struct synps_override {
  const char* path; /* of a weight, or of what is above some ("model.layers.0"); null: all */
  uint32_t residency;
  uint32_t order;
  uint32_t dequantize; /* to f32, on the heap */
  uint32_t reserved;   /* 0 */
} synps_override;

/* A codec package: a shared object whose code runs in this process. Frozen, too. */
typedef struct synps_package {
  const char* name;
  const char* path;
} synps_package;

/* A conversion at load: bytes of a weight that are not what is stored. */
typedef struct synps_conversion {
  size_t struct_size;
  const char* weight; /* path */
  const char* kind;   /* "inflate", "relayout", "dequantize" */
  const char* from;
  const char* to;
  uint64_t bytes_before;
  uint64_t bytes_after;
  uint64_t begin_ns; /* of a steady clock */
  uint64_t end_ns;
  uint64_t busy_ns; /* of all threads together */
} synps_conversion;

/* Hears of conversions while an artifact opens, one at a time. The event is gone afterwards. */
typedef void (*synps_trace)(void* context, const synps_conversion* event);

typedef struct synps_options {
  size_t struct_size;
  uint32_t verification;
  uint32_t allow_over_budget; /* load also what does not fit the budget */
  /* "desktop", "native", "edge", "mobile_2gb"; "auto": the one for this machine's memory. Null, and
     no `profile`: every weight as the artifact says. */
  const char* profile_name;
  const synps_profile* profile; /* one's own, instead of a name */
  uint64_t budget_bytes;        /* on the heap */
  uint32_t has_budget;          /* 0: the profile's */
  uint32_t reserved;
  const synps_override*
      overrides; /* the first that covers a weight holds; with any profile or none */
  size_t override_count;
  const synps_package* packages;
  size_t package_count;
  synps_trace trace; /* null: nobody hears */
  void* trace_context;
} synps_options;

/* `path` is an artifact's file, its shard index, or a folder that holds one. `options` may be null:
   all defaults. An override that covers no weight is an error. */
SYNPS_API int synps_open(const char* path, const synps_options* options, synps_artifact** artifact,
                         synps_error** error);
/* Null does nothing. */
SYNPS_API void synps_close(synps_artifact* artifact);

/* What the weights take in memory. */
typedef struct synps_plan {
  size_t struct_size;
  uint64_t file_bytes;       /* stored */
  uint64_t resident_bytes;   /* on the heap, while the artifact is open */
  uint64_t mapped_bytes;     /* of the file's mapping */
  uint64_t conversion_bytes; /* of the resident ones, those that a conversion made */
  uint64_t transient_bytes;  /* besides, the most while one was converted */
  uint64_t budget_bytes;
  uint32_t has_budget;
  uint32_t fits;
} synps_plan;
SYNPS_API int synps_get_plan(const synps_artifact* artifact, synps_plan* plan, synps_error** error);

/* The checkpoint's own metadata, by key. */
SYNPS_API size_t synps_metadata_count(const synps_artifact* artifact); /* 0 for null */
SYNPS_API int synps_get_metadata(const synps_artifact* artifact, size_t entry, const char** key,
                                 const char** value, synps_error** error);
/* The value, or null where there is no such key. */
SYNPS_API const char* synps_find_metadata(const synps_artifact* artifact, const char* key);

/* Gives the memory of the mapped bytes of volatile weights back to the system; they are read again
   when they are used. */
SYNPS_API int synps_end_invocation(const synps_artifact* artifact, synps_error** error);

/* ---- Weights: by number, in the sequence of their paths' bytes ---- */

enum { SYNPS_KEEP_AS_STORED = 0, SYNPS_DEQUANTIZE_TO = 1, SYNPS_REQUANTIZE_TO = 2 };
enum { SYNPS_ORDER_ROWS1 = 0, SYNPS_ORDER_ROWS8 = 1 };
enum { SYNPS_OUT_IN = 0, SYNPS_IN_OUT = 1 };

SYNPS_API size_t synps_weight_count(const synps_artifact* artifact); /* 0 for null */
/* The number of the weight of that path. SYNPS_ERROR_USAGE, with the nearest path, when there is
   none. */
SYNPS_API int synps_find_weight(const synps_artifact* artifact, const char* path, size_t* weight,
                                synps_error** error);

typedef struct synps_weight {
  size_t struct_size;
  const char* path;
  size_t path_size;      /* bytes, without the NUL at the end; a path may hold others */
  const uint64_t* shape; /* extents, outermost first */
  size_t rank;
  uint64_t rows;     /* product of all extents but the last; 1 for a vector or scalar */
  uint64_t columns;  /* last extent; 1 for a scalar */
  const char* dtype; /* of the checkpoint, as safetensors names it: "BF16" */
  const char* codec; /* of the stored bytes, "package:export"; "keep": as the checkpoint had them */
  uint32_t decodable;
  uint32_t lossless; /* by types: every value of the checkpoint survives */
  /* The form as loaded, in numbers and names. */
  uint32_t encoding;
  uint32_t order;
  uint32_t orientation;
  uint32_t residency;
  const char* encoding_name; /* "keep_as_stored", "dequantize_to(f32)" */
  const char* order_name;
  const char* orientation_name;
  const char* residency_name;
  const char* reason; /* why this form, in words */
  uint32_t converted; /* what is in memory is not what is stored */
  uint32_t
      activation_block; /* elements that share a scale in synps_matvec_q8; 0: it has no kernel */
  size_t component_count;
  uint64_t file_bytes; /* as in synps_plan */
  uint64_t resident_bytes;
  uint64_t mapped_bytes;
  uint64_t conversion_bytes;
  uint64_t transient_bytes;
} synps_weight;
SYNPS_API int synps_get_weight(const synps_artifact* artifact, size_t weight, synps_weight* out,
                               synps_error** error);

/* An array that is in memory of a weight. */
typedef struct synps_component {
  size_t struct_size;
  const char* name; /* "values", "blocks", "codes", "scales", … */
  const char* dtype;
  const uint64_t* shape;
  size_t rank;
  const void* data; /* not copied; stored numbers are little-endian */
  uint64_t bytes;
} synps_component;
/* Compares the component's checksums where that is due: SYNPS_ERROR_ARTIFACT when one differs. */
SYNPS_API int synps_get_component(const synps_artifact* artifact, size_t weight, size_t component,
                                  synps_component* out, synps_error** error);
SYNPS_API int synps_find_component(const synps_artifact* artifact, size_t weight, const char* name,
                                   size_t* component, synps_error** error);

/* f32 values of rows [first_row, first_row + row_count). `out_size` is row_count × columns. */
SYNPS_API int synps_decode(const synps_artifact* artifact, size_t weight, uint64_t first_row,
                           uint64_t row_count, float* out, size_t out_size, synps_error** error);

/* ---- Products ---- */

/* What products run on: a program's own threads, or a pool. Frozen. */
typedef struct synps_executor {
  void* context;
  uint32_t workers;  /* how many units run at the same time, at best; at least 1 */
  uint32_t reserved; /* 0 */
  /* Calls task(task_context, unit) for each unit from 0 to units - 1 once, in any sequence and on
     any threads, and returns when all calls have; what they wrote is then visible here. */
  void (*run)(void* context, uint64_t units, void (*task)(void* task_context, uint64_t unit),
              void* task_context);
} synps_executor;

typedef struct synps_pool synps_pool;
/* Threads that stay. `workers` counts the thread that calls; 0: one a core. */
SYNPS_API int synps_pool_create(uint32_t workers, synps_pool** pool, synps_error** error);
SYNPS_API void synps_pool_free(synps_pool* pool); /* null does nothing */
/* Good as long as the pool; null for null. Any number of threads may use it at once. */
SYNPS_API const synps_executor* synps_pool_executor(const synps_pool* pool);

/* y = W x of a matrix (rank 2): `x` has columns values, `y` gets rows, and they do not overlap. The
   bits of the result depend neither on the form, nor on the executor, which may be null: then the
   calling thread does it all. */
SYNPS_API int synps_matvec(const synps_artifact* artifact, size_t weight, const float* x,
                           size_t x_size, float* y, size_t y_size, const synps_executor* executor,
                           synps_error** error);
/* The same for some vectors: `x` is vectors × columns, `y` vectors × rows, both row-major. */
SYNPS_API int synps_matmul(const synps_artifact* artifact, size_t weight, uint64_t vectors,
                           const float* x, size_t x_size, float* y, size_t y_size,
                           const synps_executor* executor, synps_error** error);
/* y = W x with the activations rounded to 8 bits a block: faster, and less accurate.
   SYNPS_ERROR_USAGE where no kernel does that with the loaded form. */
SYNPS_API int synps_matvec_q8(const synps_artifact* artifact, size_t weight, const float* x,
                              size_t x_size, float* y, size_t y_size,
                              const synps_executor* executor, synps_error** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif /* SYNPS_H */
