/* The example package under the name that SYNPS_TEST_PACKAGE_NAME gives. */
#define synps_codec_package_v1 q8_row_package
#include "q8_row.c"
#undef synps_codec_package_v1

SYNPS_CODEC_EXPORT const synps_codec_package* synps_codec_package_v1(uint32_t host_abi_version);

const synps_codec_package* synps_codec_package_v1(uint32_t host_abi_version) {
  static synps_codec_package renamed;
  renamed = *q8_row_package(host_abi_version);
  strcpy(renamed.name, SYNPS_TEST_PACKAGE_NAME);
  return &renamed;
}
