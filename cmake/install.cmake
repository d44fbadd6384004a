# What `cmake --install` puts in place: libraries, headers, the CMake package, the program, docs.
#
# There is one export set a part that can be asked for alone, because what a part links is part of
# its export: a program that only loads artifacts must not be made to find toml++.
include(CMakePackageConfigHelpers)

set(synps_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/synps)

# synps_install_part(runtime TARGETS synps_core …): the component `runtime` of find_package(synps).
function(synps_install_part part)
  cmake_parse_arguments(ARG "" "" "TARGETS" ${ARGN})
  install(TARGETS ${ARG_TARGETS} EXPORT synps-${part}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT synps-${part} NAMESPACE synps:: DESTINATION ${synps_cmake_dir})
endfunction()

synps_install_part(runtime TARGETS synps_codec_abi synps_core synps_codecs synps_runtime)
synps_install_part(c TARGETS synps_c)
synps_install_part(c_static TARGETS synps_c_static)
synps_install_part(policy TARGETS synps_policy)
synps_install_part(packager TARGETS synps_packager)

foreach(folder core codecs policy packager)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/synps
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/capi/include/synps.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# For builds without CMake. Paths are relative to the file, so that the prefix can be moved.
file(RELATIVE_PATH synps_pc_to_prefix
  ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/synps.pc.in ${PROJECT_BINARY_DIR}/cmake/synps.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/synps.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/synpsConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/synpsConfig.cmake INSTALL_DESTINATION ${synps_cmake_dir}
  NO_SET_AND_CHECK_MACRO)
# Until version 1 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/synpsConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/synpsConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/synpsConfigVersion.cmake
  DESTINATION ${synps_cmake_dir})

install(TARGETS synps RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES
  ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
