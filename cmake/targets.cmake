# Helpers that give every target of ours the same language level and warnings.

function(synps_target_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    # Bytes must not depend on whether the compiler fuses a multiply with an add.
    -ffp-contract=off)
  # g++ 12 takes "x" + std::string() for a copy onto itself when it optimises (its bug 105329).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(SYNPS_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(SYNPS_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SYNPS_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${SYNPS_SANITIZE})
  endif()
  if(SYNPS_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# One static library a folder: synps_library(core SOURCES a.cpp b.cpp DEPENDS PUBLIC x PRIVATE y)
function(synps_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(synps_${name} STATIC ${ARG_SOURCES})
  add_library(synps::${name} ALIAS synps_${name})
  set_target_properties(synps_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(synps_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(synps_${name} ${ARG_DEPENDS})
  synps_target_options(synps_${name})
endfunction()
