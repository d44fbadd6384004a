/* The codec package q8_row: int8 codes with one f32 scale a row.
 *
 * For a row x of n values, with every operation one f32 operation, rounded to nearest even:
 *
 *   m     = the largest magnitude of the row's finite values; NaN and infinities count as 0
 *   scale = m / 127, and the next smaller f32 where 127 * scale would be infinite
 *   code  = x / scale, rounded to the nearest integer, halves away from zero, clamped to -127 …
 * 127; 0 where the scale is 0, and for NaN and infinities
 *
 * Decoded: code * scale, so that -0 comes back as +0. Stored: `codes`, I8, the weight's shape;
 * `scales`, F32, one a row, its shape the weight's with the last extent 1.
 *
 * Findings. Every NaN and infinity is not finite. Where m / 127 rounds to 0, which is
 * up to m = 63 × 2^-149, every finite value of the row but 0 is an underflow. Nothing overflows. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <synps/codec_abi.h>

/* Numbers of the components. */
#define CODES 0
#define SCALES 1
#define COMPONENTS 2

#define LARGEST_CODE 127.0f

/* Components may start anywhere, and are little-endian wherever this runs. */
static void store_f32(unsigned char* to, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 4; ++i) to[i] = (unsigned char)(bits >> (8 * i));
}

static float load_f32(const unsigned char* from) {
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= (uint32_t)from[i] << (8 * i);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float scale_of(const float* row, uint64_t columns) {
  float largest = 0;
  for (uint64_t i = 0; i < columns; ++i) {
    const float magnitude = fabsf(row[i]);
    if (isfinite(magnitude) && magnitude > largest) largest = magnitude;
  }
  const float scale = largest / LARGEST_CODE;
  /* Rounding the quotient of a value next to the largest f32 up would decode to infinity. */
  return isinf(LARGEST_CODE * scale) ? nextafterf(scale, 0) : scale;
}

static int8_t code_of(float value, float scale) {
  if (scale == 0 || !isfinite(value)) return 0;
  const float ratio = value / scale;
  /* Also where a scale is so small that it has few bits, and 127 of it are less than the row's m.
   */
  if (ratio >= LARGEST_CODE) return 127;
  if (ratio <= -LARGEST_CODE) return -127;
  const int whole = (int)ratio; /* towards zero; what is left is exact */
  const float rest = ratio - (float)whole;
  return (int8_t)(whole + (rest >= 0.5f) - (rest <= -0.5f));
}

static void add_finding(synps_codec_finding* finding, uint64_t index, float value) {
  if (finding->count++ != 0) return;
  finding->first_index = index;
  finding->first_value = value;
}

static int32_t q8_row_supports(const synps_codec* self, const synps_codec_weight* weight,
                               uint32_t* supported, char* message, size_t message_size) {
  (void)self;
  *supported = weight->rank > 0;
  if (weight->rank == 0) snprintf(message, message_size, "a scalar has no row to share a scale");
  return SYNPS_CODEC_OK;
}

static int32_t q8_row_components(const synps_codec* self, const synps_codec_weight* weight,
                                 synps_codec_component* out, size_t capacity, size_t* count,
                                 char* message, size_t message_size) {
  (void)self;
  if (capacity < COMPONENTS) {
    snprintf(message, message_size, "no room for %d components", COMPONENTS);
    return SYNPS_CODEC_FAILED;
  }
  strcpy(out[CODES].name, "codes");
  out[CODES].dtype = SYNPS_DTYPE_I8;
  strcpy(out[SCALES].name, "scales");
  out[SCALES].dtype = SYNPS_DTYPE_F32;
  for (int c = 0; c < COMPONENTS; ++c) {
    out[c].rank = (uint32_t)weight->rank;
    memcpy(out[c].extents, weight->extents, weight->rank * sizeof weight->extents[0]);
  }
  out[SCALES].extents[weight->rank - 1] = 1;
  *count = COMPONENTS;
  return SYNPS_CODEC_OK;
}

static int32_t q8_row_row_bytes(const synps_codec* self, size_t component, uint64_t columns,
                                uint64_t* bytes, char* message, size_t message_size) {
  (void)self, (void)message, (void)message_size;
  *bytes = component == CODES ? columns : sizeof(float);
  return SYNPS_CODEC_OK;
}

static int32_t q8_row_encode(const synps_codec* self, const synps_codec_piece* piece,
                             const float* values, size_t value_count, const void* analysis,
                             const synps_codec_bytes* out, size_t out_count,
                             synps_codec_findings* findings, char* message, size_t message_size) {
  (void)self, (void)value_count, (void)analysis, (void)out_count, (void)message, (void)message_size;
  unsigned char* codes = out[CODES].data;
  unsigned char* scales = out[SCALES].data;
  for (uint64_t r = 0; r < piece->rows; ++r) {
    const float* row = values + r * piece->columns;
    const uint64_t first = piece->first_element + r * piece->columns;
    const float scale = scale_of(row, piece->columns);
    store_f32(scales + r * sizeof scale, scale);
    for (uint64_t i = 0; i < piece->columns; ++i) {
      codes[r * piece->columns + i] = (unsigned char)code_of(row[i], scale);
      if (!isfinite(row[i]))
        add_finding(&findings->non_finite, first + i, row[i]);
      else if (scale == 0 && row[i] != 0)
        add_finding(&findings->underflow, first + i, row[i]);
    }
  }
  return SYNPS_CODEC_OK;
}

static int32_t q8_row_decode(const synps_codec* self, const synps_codec_piece* piece,
                             const synps_codec_const_bytes* in, size_t in_count, float* values,
                             size_t value_count, char* message, size_t message_size) {
  (void)self, (void)in_count, (void)value_count, (void)message, (void)message_size;
  const unsigned char* codes = in[CODES].data;
  const unsigned char* scales = in[SCALES].data;
  for (uint64_t r = 0; r < piece->rows; ++r) {
    const float scale = load_f32(scales + r * sizeof scale);
    for (uint64_t i = 0; i < piece->columns; ++i) {
      const int code = codes[r * piece->columns + i];
      values[r * piece->columns + i] = (float)(code < 128 ? code : code - 256) * scale;
    }
  }
  return SYNPS_CODEC_OK;
}

static const synps_codec kQ8Row = {
    .struct_size = sizeof(synps_codec),
    .revision = 1,
    .name = "q8_row",
    .summary = "int8 codes and one f32 scale a row",
    .error_bound = "half a step of max|x|/127 where that is normal, and rounding",
    .bits_per_weight = 8,
    .encodes = 1,
    .supports = q8_row_supports,
    .components = q8_row_components,
    .row_bytes = q8_row_row_bytes,
    .encode = q8_row_encode,
    .decode = q8_row_decode,
};
static const synps_codec* const kCodecs[] = {&kQ8Row};

static const synps_codec_package kPackage = {
    .struct_size = sizeof(synps_codec_package),
    .abi_version = SYNPS_CODEC_ABI_VERSION,
    .name = "q8_row",
    .codecs = kCodecs,
    .codec_count = sizeof kCodecs / sizeof kCodecs[0],
};

SYNPS_CODEC_EXPORT const synps_codec_package* synps_codec_package_v1(uint32_t host_abi_version) {
  return host_abi_version == SYNPS_CODEC_ABI_VERSION ? &kPackage : NULL;
}
