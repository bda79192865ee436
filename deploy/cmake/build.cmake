# Warnings, sanitizers and the two helpers every folder uses.
add_library(hammer_flags INTERFACE)
target_compile_definitions(hammer_flags INTERFACE _GNU_SOURCE HAMMER_VERSION="${PROJECT_VERSION}")
target_include_directories(hammer_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(hammer_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
                       -Wmissing-prototypes -Wformat=2 -fno-strict-aliasing -fno-common)
if(HAMMER_WERROR)
    target_compile_options(hammer_flags INTERFACE -Werror)
endif()
# What a load generator reads is hostile: tests/hardening reads these out of the programs. Not
# CMAKE_POSITION_INDEPENDENT_CODE: static libraries get -fPIC of it, which costs the hot path.
target_compile_options(hammer_flags INTERFACE -fPIE)
target_link_options(hammer_flags INTERFACE -pie)
if(CMAKE_BUILD_TYPE MATCHES "Rel")
    target_compile_options(hammer_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
                           -fstack-protector-strong -fstack-clash-protection)
    target_link_options(hammer_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
if(HAMMER_SANITIZE)
    target_compile_options(hammer_flags INTERFACE -fsanitize=${HAMMER_SANITIZE}
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(hammer_flags INTERFACE -fsanitize=${HAMMER_SANITIZE})
    # What they advise: compiles half as fast again as -O0, and the tests take half the time or less.
    # gcc then sees truncations that cannot be; the release build warns of those that can.
    target_compile_options(hammer_flags INTERFACE -O1 $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)
endif()
if(HAMMER_FUZZ)
    target_compile_options(hammer_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(HAMMER_COVERAGE)
    target_compile_options(hammer_flags INTERFACE --coverage -O0)
    target_link_options(hammer_flags INTERFACE --coverage)
endif()

# hammer_library(<name> [<subfolder>...]): one static library a folder; main.c is left to the program.
function(hammer_library name)
    set(dirs . ${ARGN})
    set(sources)
    foreach(dir IN LISTS dirs)
        file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.c)
        list(APPEND sources ${found})
    endforeach()
    list(FILTER sources EXCLUDE REGEX "/main\\.c$")
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC hammer_flags)
endfunction()
