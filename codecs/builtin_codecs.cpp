#include "synps/builtin_codecs.h"

#include <mutex>
#include <utility>

#include "bf16.h"
#include "f16.h"
#include "f32.h"
#include "f64.h"
#include "f8_e4m3.h"
#include "f8_e4m3fnuz.h"
#include "f8_e5m2.h"
#include "f8_e5m2fnuz.h"
#include "iq4_nl.h"
#include "iq4_xs.h"
#include "kernel_choice.h"
#include "mxfp4.h"
#include "q2_k.h"
#include "q3_k.h"
#include "q4_0.h"
#include "q4_1.h"
#include "q4_k.h"
#include "q5_0.h"
#include "q5_1.h"
#include "q5_k.h"
#include "q6_k.h"
#include "q8_0.h"
#include "q8_1.h"
#include "q8_k.h"
#include "ternary.h"
#include "ternary_absmean.h"
#include "ternary_planes.h"
#include "ternary_tq1_0.h"
#include "ternary_tq2_0.h"

namespace synps {
namespace {

std::vector<std::shared_ptr<const Codec>> make_codecs(CodePath path) {
  return {
      make_f32(path),
      make_f16(path),
      make_bf16(path),
      make_f64(path),
      make_f8_e4m3(path),
      make_f8_e5m2(path),
      make_f8_e4m3fnuz(path),
      make_f8_e5m2fnuz(path),
      make_q8_0(path),
      make_q4_0(path),
      make_q4_1(path),
      make_q5_0(path),
      make_q5_1(path),
      make_q8_1(path),
      make_q2_k(path),
      make_q3_k(path),
      make_q4_k(path),
      make_q5_k(path),
      make_q6_k(path),
      make_q8_k(path),
      make_iq4_nl(path),
      make_iq4_xs(path),
      make_mxfp4(path),
      make_ternary(path),
      make_ternary_absmean(path),
      make_ternary_planes(path),
      make_ternary_tq1_0(path),
      make_ternary_tq2_0(path),
  };
}

void choose_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    trust_avx512_if([] {
      return kernels_agree(make_codecs(CodePath::fast), make_codecs(CodePath::reference));
    });
  });
}

}  // namespace

std::vector<std::shared_ptr<const Codec>> make_builtin_codecs() {
  choose_kernels();
  return make_codecs(CodePath::fast);
}

std::vector<std::shared_ptr<const Codec>> make_reference_codecs() {
  return make_codecs(CodePath::reference);
}

CodecRegistry make_builtin_registry() {
  CodecRegistry registry;
  for (auto& codec : make_builtin_codecs()) registry.add(std::move(codec));
  return registry;
}

const CodecRegistry& builtin_registry() {
  static const CodecRegistry kRegistry = make_builtin_registry();
  return kRegistry;
}

}  // namespace synps
