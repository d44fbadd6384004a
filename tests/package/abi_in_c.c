/* The interface's header as a C compiler sees it: compiled as strict C99. */
#include "abi_in_c.h"

#include "synps/codec_abi.h"

size_t synps_test_abi_sizes(size_t* sizes, size_t capacity) {
  const size_t own[] = {sizeof(synps_codec_weight),      sizeof(synps_codec_piece),
                        sizeof(synps_codec_component),   sizeof(synps_codec_bytes),
                        sizeof(synps_codec_const_bytes), sizeof(synps_codec_finding),
                        sizeof(synps_codec_findings),    sizeof(synps_codec),
                        sizeof(synps_codec_package),     offsetof(synps_codec, row_granule),
                        offsetof(synps_codec, supports), offsetof(synps_codec, graph_decode)};
  const size_t count = sizeof own / sizeof own[0];
  for (size_t i = 0; i < count && i < capacity; ++i) sizes[i] = own[i];
  return count;
}
