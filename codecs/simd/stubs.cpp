#include "simd/kernels.h"
namespace synps::simd {
std::size_t encode_q4_1(const float*, std::size_t, std::byte*) { return 0; }
std::size_t encode_q5_0(const float*, std::size_t, std::byte*) { return 0; }
std::size_t encode_q5_1(const float*, std::size_t, std::byte*) { return 0; }
std::size_t encode_q4_k(const float*, std::size_t, std::byte*) { return 0; }
std::size_t encode_q5_k(const float*, std::size_t, std::byte*) { return 0; }
std::size_t encode_q6_k(const float*, std::size_t, std::byte*) { return 0; }
std::size_t decode_q4_1(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q5_0(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q5_1(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q8_1(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_iq4_nl(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_mxfp4(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q2_k(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q3_k(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q4_k(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q5_k(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q6_k(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_q8_k(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_iq4_xs(const std::byte*, std::size_t, float*) { return 0; }
}
