# Every dependency is a Debian 12 package; scripts/install-deps names them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(simdjson REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(zstd REQUIRED)
find_package(CLI11 REQUIRED)

# xxHash has only a pkg-config file.
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
