#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes and offsets of the interface's structures; returns how many there are. */
size_t synps_test_abi_sizes(size_t* sizes, size_t capacity);

#ifdef __cplusplus
}
#endif
