/* The interface between synps and codec packages from outside: C99, and C++.
 *
 * A codec package is a shared object that exports one function, `synps_codec_package_v1`, which
 * returns a table of codecs. It needs this header alone and links nothing of synps.
 * docs/codecs.md ("Codec packages") is a tutorial; docs/codec_package/ is a package to start from.
 *
 * Units. A weight is a tensor of f32 values: sources of other types have been decoded. A row is
 * its last dimension; a vector is one row, a scalar one row of one value. Extents, rows, columns
 * and element indices are uint64_t and count elements. Sizes of memory are size_t and count bytes,
 * but for arrays of a C type, whose size counts elements. Stored numbers are little-endian.
 *
 * Ownership. Whoever allocates memory keeps it. Tables are the package's, constant, and must stay
 * where they are until the process ends (a package is never unloaded). Everything else that passes
 * here is the caller's and good for the one call; a function keeps no pointer to it.
 *
 * Threads. Codecs are stateless: every function may be called from any number of threads at once,
 * and its result depends on its arguments alone. One analysis is used by one thread at a time until
 * its last `analysis_add`, and then read by many.
 *
 * Floating point. Every call starts in the default environment (to nearest even, subnormals kept,
 * no traps), and what a function changes in it is undone when it returns. Do not link a package
 * with -ffast-math: its start-up code changes the environment of whoever loads it.
 *
 * Errors. Functions return SYNPS_CODEC_OK or another status below, and then write why into
 * `message`: NUL-terminated UTF-8, one line without a full stop, at most `message_size` bytes with
 * the NUL. `message` starts out empty and is never null. A failing call leaves its outputs
 * unspecified. No exception may leave a function; the host turns one that does into an error, where
 * the C++ runtimes are the same.
 *
 * What the host checks. Names, sizes, counts and null pointers of every table, at loading. Of
 * every answer: ranges, sizes that contradict each other, answers that change, findings that are
 * none. Every buffer that a package may write has guard bytes before and after, which are compared
 * after each call. Bytes that a function leaves unwritten are found by running it twice, on the
 * first and the last piece of a weight and on some between them; there, its inputs are copies,
 * which are compared, too. A package that calls exit() ends the process with a sentence. All of
 * this ends in an error, exit code 9, and finds faults, not attacks: a package runs with all rights
 * of its process.
 *
 * Versions. SYNPS_CODEC_ABI_VERSION changes when an older host or package could not cope; the name
 * of the exported function changes with it. Within a version, structures with a `struct_size` only
 * grow at their end, and those without one (synps_codec_bytes, synps_codec_const_bytes,
 * synps_codec_finding, synps_codec_component) are frozen: arrays of them and structures with them
 * inside depend on their size. `struct_size` is the size that whoever fills a structure knows; what
 * is reserved must be 0. A host reads the fields that both know and takes fields beyond a package's
 * size for zero; it refuses a size below that of the version's first edition, which is what this
 * header has. A package reads a host's structure the same way. New element types and findings get
 * new numbers and fields: a host passes over a number in `exact` that it does not know.
 */
#ifndef SYNPS_CODEC_ABI_H
#define SYNPS_CODEC_ABI_H

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming,modernize-*): C names for C programs */

#ifdef __cplusplus
extern "C" {
#endif

#define SYNPS_CODEC_ABI_VERSION 1u

/* The exported function, as the dynamic linker knows it. */
#define SYNPS_CODEC_PACKAGE_SYMBOL "synps_codec_package_v1"

/* Limits. Names and texts are arrays of these sizes, with the NUL that ends them. */
#define SYNPS_CODEC_NAME_SIZE 64u
#define SYNPS_CODEC_TEXT_SIZE 256u
#define SYNPS_CODEC_MAX_CODECS 256u
#define SYNPS_CODEC_MAX_RANK 32u /* weights of more are refused before a package is asked */
#define SYNPS_CODEC_MAX_COMPONENTS 16u
#define SYNPS_CODEC_MAX_EXACT 32u
#define SYNPS_CODEC_MAX_PER_WEIGHT 67108864u /* bytes of a component that is per weight */
#define SYNPS_CODEC_MAX_GRANULE                                    \
  16777216u /* elements; also the longest row of a codec with none \
             */

/* Status of a call. */
#define SYNPS_CODEC_OK 0
#define SYNPS_CODEC_FAILED 1    /* for the reason in `message` */
#define SYNPS_CODEC_TOO_LARGE 2 /* from `components` and `row_bytes`: a size past 64 bits */
#define SYNPS_CODEC_NO_MEMORY 3

/* Element types, as safetensors names them. */
#define SYNPS_DTYPE_BOOL 0u
#define SYNPS_DTYPE_F4 1u
#define SYNPS_DTYPE_F6_E2M3 2u
#define SYNPS_DTYPE_F6_E3M2 3u
#define SYNPS_DTYPE_U8 4u
#define SYNPS_DTYPE_I8 5u
#define SYNPS_DTYPE_F8_E5M2 6u
#define SYNPS_DTYPE_F8_E4M3 7u
#define SYNPS_DTYPE_F8_E8M0 8u
#define SYNPS_DTYPE_F8_E4M3FNUZ 9u
#define SYNPS_DTYPE_F8_E5M2FNUZ 10u
#define SYNPS_DTYPE_I16 11u
#define SYNPS_DTYPE_U16 12u
#define SYNPS_DTYPE_F16 13u
#define SYNPS_DTYPE_BF16 14u
#define SYNPS_DTYPE_I32 15u
#define SYNPS_DTYPE_U32 16u
#define SYNPS_DTYPE_F32 17u
#define SYNPS_DTYPE_C64 18u
#define SYNPS_DTYPE_F64 19u
#define SYNPS_DTYPE_I64 20u
#define SYNPS_DTYPE_U64 21u

typedef struct synps_codec synps_codec;

/* One logical tensor. */
typedef struct synps_codec_weight {
  uint32_t struct_size;
  uint32_t dtype;   /* SYNPS_DTYPE_*: what the source stores; the values are f32 all the same */
  const char* path; /* graph path: UTF-8, NUL-terminated (a NUL may also be inside) */
  size_t path_size; /* bytes, without the NUL that ends it */
  const uint64_t* extents; /* outermost first; never null */
  size_t rank;             /* extents; 0 for a scalar */
  uint64_t rows;           /* product of all extents but the last; 1 for rank 0 and 1 */
  uint64_t columns;        /* the last extent; 1 for a scalar */
} synps_codec_weight;

/* Adjacent elements of a weight: whole rows (columns == weight->columns), or a part of one row
 * (rows == 1) that starts at a multiple of the codec's row_granule and ends at one or at the row's
 * end. Never empty. */
typedef struct synps_codec_piece {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  const synps_codec_weight* weight;
  uint64_t first_element; /* flat index of the piece's first element in the weight */
  uint64_t rows;
  uint64_t columns; /* elements of each row that are in the piece */
} synps_codec_piece;

/* One array that a codec stores for a weight. A record of this layout is frozen. */
typedef struct synps_codec_component {
  char name[SYNPS_CODEC_NAME_SIZE]; /* [a-z0-9_]+: part of the format, like what is stored */
  uint32_t dtype;                   /* SYNPS_DTYPE_* of the stored elements */
  uint32_t per_weight; /* 1: one value set a weight, which the analysis gives; 0: bytes a row */
  uint32_t rank;       /* at most SYNPS_CODEC_MAX_RANK */
  uint32_t reserved;   /* 0 */
  uint64_t extents[SYNPS_CODEC_MAX_RANK]; /* of the stored array, the first `rank` of them */
} synps_codec_component;

/* Stored bytes of a component for one piece. No alignment is promised. Frozen. */
typedef struct synps_codec_bytes {
  void* data;
  size_t size;
} synps_codec_bytes;
typedef struct synps_codec_const_bytes {
  const void* data;
  size_t size;
} synps_codec_const_bytes;

/* Values that a codec could not keep. Frozen. */
typedef struct synps_codec_finding {
  uint64_t count;       /* in this piece */
  uint64_t first_index; /* the smallest, as a flat index in the weight; if count is not 0 */
  double first_value;   /* the value there */
} synps_codec_finding;
typedef struct synps_codec_findings {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  /* Finite values that decode to an infinity; or blocks of which that is true, each told by its
   * value of largest magnitude. */
  synps_codec_finding overflow;
  /* NaN and infinities, every one, or none where the codec gives all of them back. */
  synps_codec_finding non_finite;
  /* Values other than zero that decode to zero because the scale or the format cannot hold anything
   * so small. Values that are small next to their scale are ordinary rounding, no finding. */
  synps_codec_finding underflow;
} synps_codec_findings;

/* A codec: facts, then functions. `self` is the codec's own table. */
struct synps_codec {
  uint32_t struct_size;             /* sizeof(synps_codec) */
  uint32_t revision;                /* from 1 on; raised when stored bytes change their meaning */
  char name[SYNPS_CODEC_NAME_SIZE]; /* the export: [a-z0-9_]+ */
  char summary[SYNPS_CODEC_TEXT_SIZE];     /* one line for people */
  char error_bound[SYNPS_CODEC_TEXT_SIZE]; /* one line for people; "exact" for what is in `exact` */
  double bits_per_weight; /* nominal, without padding and what is stored once a row; 0 < it <= 64 */
  uint32_t encodes;       /* 0: a retired codec that is only decoded; its `encode` is null */
  uint32_t needs_analysis; /* 1: the whole weight is seen before a row is encoded */
  uint32_t exact_count;    /* entries used in `exact` */
  uint32_t reserved;       /* 0 */
  /* Floating point SYNPS_DTYPE_*, each once, whose every value comes back (a NaN may be quieted).
   * A weight of such a type counts as stored without loss. */
  uint32_t exact[SYNPS_CODEC_MAX_EXACT];
  /* Elements at whose multiples a row may be cut into independent pieces; 0: a row is one piece,
   * and longer rows than SYNPS_CODEC_MAX_GRANULE are refused before the codec is asked. */
  uint64_t row_granule;
  const void* context; /* the package's own: the host does not look at it */

  /* Whether the codec can store (a retired one: read) a weight of this shape: `*supported` is 1 or
   * 0, and for 0 `message` says why, in words a user can act on, while the status is OK. Never
   * asked about a weight without elements: the host supports it. */
  int32_t (*supports)(const synps_codec* self, const synps_codec_weight* weight,
                      uint32_t* supported, char* message, size_t message_size);

  /* What is stored for a weight that is supported: fills `out` (zeroed, `capacity` records of it)
   * and sets `*count`. At least one component has bytes for every row. Names differ. The bytes of a
   * component are what its shape and dtype make; where it has bytes for every row, they are
   * weight->rows × row_bytes(weight->columns), and not none.
   * A weight without elements is shown with the shape [0]: names and dtypes count then, and the
   * host sets the shape of components that have bytes for every row to [0]. */
  int32_t (*components)(const synps_codec* self, const synps_codec_weight* weight,
                        synps_codec_component* out, size_t capacity, size_t* count, char* message,
                        size_t message_size);

  /* Bytes that component number `component` takes for `columns` elements of a row; 0 for one that
   * is per weight. `columns` is a row's length, a multiple of row_granule, or the rest of a row
   * after one. Where a row may be cut, the bytes of its parts add up to the row's. */
  int32_t (*row_bytes)(const synps_codec* self, size_t component, uint64_t columns, uint64_t* bytes,
                       char* message, size_t message_size);

  /* The analysis pass: all four null unless needs_analysis. `*analysis` is the package's own
   * object, handed back to the other functions and freed by analysis_destroy. analysis_add takes
   * the next values in flat order, each once; how they are cut into calls makes no difference.
   * analysis_store writes a per-weight component, all `size` bytes of it, after the last
   * analysis_add; it comes without any for a weight without elements. */
  int32_t (*analysis_create)(const synps_codec* self, const synps_codec_weight* weight,
                             void** analysis, char* message, size_t message_size);
  int32_t (*analysis_add)(const synps_codec* self, void* analysis, const float* values,
                          size_t count, char* message, size_t message_size);
  int32_t (*analysis_store)(const synps_codec* self, const void* analysis, size_t component,
                            void* out, size_t size, char* message, size_t message_size);
  void (*analysis_destroy)(const synps_codec* self, void* analysis);

  /* Encodes a piece: `value_count` = rows × columns values, row-major. `out` has one entry for each
   * component (`out_count`), with rows × row_bytes(columns) bytes, all of which must be written;
   * per weight components have size 0 there. `analysis` is null unless needs_analysis. Bytes are
   * written for whatever values come: those that do not fit are told in `findings`, which starts
   * out zero, and are no error. The bytes of a row do not depend on other rows. */
  int32_t (*encode)(const synps_codec* self, const synps_codec_piece* piece, const float* values,
                    size_t value_count, const void* analysis, const synps_codec_bytes* out,
                    size_t out_count, synps_codec_findings* findings, char* message,
                    size_t message_size);

  /* Decodes a piece: the reverse. Per-weight components come whole. All `value_count` values must
   * be written. Any bytes decode, also those that no encoder writes, to the same values each time;
   * which NaN a NaN is does not matter. */
  int32_t (*decode)(const synps_codec* self, const synps_codec_piece* piece,
                    const synps_codec_const_bytes* in, size_t in_count, float* values,
                    size_t value_count, char* message, size_t message_size);

  /* Kept for the decode written as graph operations. A package built with this edition leaves it
   * null; a host of this edition ignores it. */
  void (*graph_decode)(void);
};

/* What a package exports. */
typedef struct synps_codec_package {
  uint32_t struct_size; /* sizeof(synps_codec_package) */
  uint32_t abi_version; /* SYNPS_CODEC_ABI_VERSION */
  /* [a-z0-9_]+. Artifacts name their codecs `package:export`, so that this is part of the format;
   * users load the package under this name and no other. */
  char name[SYNPS_CODEC_NAME_SIZE];
  const synps_codec* const* codecs; /* `codec_count` of them, at least one; names differ */
  size_t codec_count;
} synps_codec_package;

/* The type of the exported function. It gets the host's SYNPS_CODEC_ABI_VERSION and returns the
 * same table each time, or null when the package does not work with that host. */
typedef const synps_codec_package* (*synps_codec_package_function)(uint32_t host_abi_version);

/* Puts the function among the symbols that the shared object exports, whatever the compiler's
 * default: SYNPS_CODEC_EXPORT const synps_codec_package* synps_codec_package_v1(uint32_t host) … */
#if defined(__GNUC__)
#define SYNPS_CODEC_EXPORT __attribute__((visibility("default")))
#else
#define SYNPS_CODEC_EXPORT
#endif
SYNPS_CODEC_EXPORT const synps_codec_package* synps_codec_package_v1(uint32_t host_abi_version);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif
