# Finds every library and, when one is missing, stops with the Debian package that brings it.
# One source for Debian 12 and 13: msgpack-c goes by two names, llhttp comes as sources or as a library.
find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
    message(FATAL_ERROR "pkg-config is missing: apt-get install pkg-config")
endif()

# Debian 13's msgpack-c.pc names the folder "include" without a root, which CMake refuses; the headers
# are where the compiler looks anyway.
function(hammer_drop_relative_includes target)
    get_target_property(dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(dirs)
        list(FILTER dirs INCLUDE REGEX "^/")
        set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${dirs}")
    endif()
endfunction()

# hammer_need(<prefix> <debian package> <pkg-config name>...): the first name found wins.
function(hammer_need prefix package)
    foreach(name IN LISTS ARGN)
        pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${name})
        if(${prefix}_FOUND)
            hammer_drop_relative_includes(PkgConfig::${prefix})
            add_library(dep_${prefix} INTERFACE)
            target_link_libraries(dep_${prefix} INTERFACE PkgConfig::${prefix})
            message(STATUS "${name} ${${prefix}_VERSION}")
            return()
        endif()
    endforeach()
    message(FATAL_ERROR "${ARGN} not found: apt-get install ${package}")
endfunction()

hammer_need(event libevent-dev libevent_core)
hammer_need(event_pthreads libevent-dev libevent_pthreads)
hammer_need(jansson libjansson-dev jansson)
hammer_need(msgpack "libmsgpack-dev (Debian 12) or libmsgpack-c-dev (Debian 13)" msgpack-c msgpack)

hammer_need(yaml libyaml-dev yaml-0.1)
hammer_need(cyaml libcyaml-dev libcyaml)
hammer_need(crypto libssl-dev libcrypto)
hammer_need(ssl libssl-dev libssl)
hammer_need(sqlite libsqlite3-dev sqlite3)
hammer_need(zlib zlib1g-dev zlib)
hammer_need(event_extra libevent-dev libevent_extra)

find_package(nng CONFIG QUIET)
if(NOT nng_FOUND)
    message(FATAL_ERROR "nng not found: apt-get install libnng-dev")
endif()
message(STATUS "nng ${nng_VERSION}")
add_library(dep_nng INTERFACE)
target_link_libraries(dep_nng INTERFACE nng::nng)

# Debian 13 ships libllhttp-dev; Debian 12 only the C sources, inside node-llhttp.
pkg_check_modules(llhttp QUIET IMPORTED_TARGET libllhttp)
find_path(LLHTTP_SOURCE_DIR llhttp.c PATHS /usr/share/llhttp NO_DEFAULT_PATH)
find_path(LLHTTP_INCLUDE_DIR llhttp.h PATHS /usr/include /usr/include/node /usr/share/llhttp
          /usr/share/include/llhttp)
if(llhttp_FOUND)
    add_library(dep_llhttp INTERFACE)
    target_link_libraries(dep_llhttp INTERFACE PkgConfig::llhttp)
    message(STATUS "libllhttp ${llhttp_VERSION}")
elseif(LLHTTP_SOURCE_DIR AND LLHTTP_INCLUDE_DIR)
    add_library(dep_llhttp STATIC ${LLHTTP_SOURCE_DIR}/llhttp.c ${LLHTTP_SOURCE_DIR}/api.c
                                  ${LLHTTP_SOURCE_DIR}/http.c)
    target_include_directories(dep_llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE_DIR})
    target_compile_options(dep_llhttp PRIVATE -O2 -w -fPIE -fstack-protector-strong)
    # The loose parser takes any two bytes for the CRLF after a chunk; version 9 is always strict.
    target_compile_definitions(dep_llhttp PRIVATE LLHTTP_STRICT_MODE=1)
    message(STATUS "llhttp from ${LLHTTP_SOURCE_DIR}")
else()
    message(FATAL_ERROR
            "llhttp not found: apt-get install node-llhttp (Debian 12) or libllhttp-dev (Debian 13)")
endif()

if(HAMMER_TESTS)
    hammer_need(check check check)
endif()
find_package(Threads REQUIRED)

# Only the agent uses it, and only to tell systemd its state.
add_library(dep_systemd INTERFACE)
pkg_check_modules(systemd QUIET IMPORTED_TARGET libsystemd)
if(systemd_FOUND)
    target_link_libraries(dep_systemd INTERFACE PkgConfig::systemd)
    target_compile_definitions(dep_systemd INTERFACE HAMMER_SYSTEMD=1)
    message(STATUS "libsystemd ${systemd_VERSION}")
else()
    message(STATUS "libsystemd not found: hammer-agent will not speak to systemd")
endif()
