# What the HTML report embeds (controller/report/html/web): our style sheet and script always, and uPlot, which
# the script draws with, from the npm registry; never committed. Without it the report has its static charts.
#   HAMMER_WEB=AUTO  with uPlot where npm can bring it, else without (the default)
#   HAMMER_WEB=ON    not without
#   HAMMER_WEB=OFF   without, and npm is not looked for
set(HAMMER_WEB AUTO CACHE STRING "embed uPlot in HTML reports: AUTO, ON or OFF")
set_property(CACHE HAMMER_WEB PROPERTY STRINGS AUTO ON OFF)

set(HAMMER_WEB_SOURCES ${PROJECT_SOURCE_DIR}/controller/report/html/web)
set(HAMMER_WEB_FOLDER ${PROJECT_BINARY_DIR}/web)

# hammer_fetch_web(<variable>): the folder of uPlot, or nothing. package-lock.json has the hash of what is
# accepted. What was fetched once is kept until the list changes.
function(hammer_fetch_web out)
    set(${out} "" PARENT_SCOPE)
    set(list ${HAMMER_WEB_SOURCES}/package-lock.json)
    set(uplot ${HAMMER_WEB_FOLDER}/node_modules/uplot)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    file(SHA256 ${list} wanted)
    set(have "")
    if(EXISTS ${HAMMER_WEB_FOLDER}/fetched AND EXISTS ${uplot}/dist/uPlot.iife.min.js)
        file(READ ${HAMMER_WEB_FOLDER}/fetched have)
    endif()
    if(NOT have STREQUAL wanted)
        find_program(HAMMER_NPM npm)
        if(NOT HAMMER_NPM)
            message(STATUS "npm not found")
            return()
        endif()
        file(MAKE_DIRECTORY ${HAMMER_WEB_FOLDER})
        file(COPY ${HAMMER_WEB_SOURCES}/package.json ${list} DESTINATION ${HAMMER_WEB_FOLDER})
        execute_process(
            COMMAND ${HAMMER_NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline
                    --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=20000
            WORKING_DIRECTORY ${HAMMER_WEB_FOLDER} TIMEOUT 90
            RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
        if(NOT result EQUAL 0 OR NOT EXISTS ${uplot}/dist/uPlot.iife.min.js)
            string(REGEX REPLACE "\n.*" "" said "${said}")
            message(STATUS "npm ci did not bring uPlot (${result}): ${said}")
            return()
        endif()
        file(WRITE ${HAMMER_WEB_FOLDER}/fetched ${wanted})
    endif()
    set(${out} ${uplot} PARENT_SCOPE)
endfunction()

# hammer_embed(<target> <word> [<file>]): html_asset_<word> becomes a source of the target.
function(hammer_embed target word)
    set(made ${HAMMER_WEB_FOLDER}/${word}.c)
    set(embed ${PROJECT_SOURCE_DIR}/deploy/cmake/embed.cmake)
    add_custom_command(OUTPUT ${made} DEPENDS ${embed} ${ARGN}
                       COMMAND ${CMAKE_COMMAND} -D IN=${ARGN} -D OUT=${made} -D NAME=${word} -P ${embed}
                       VERBATIM)
    target_sources(${target} PRIVATE ${made})
endfunction()

# hammer_web(<target>): all that controller/report/html/html_assets.h names.
function(hammer_web target)
    set(uplot "")
    if(NOT HAMMER_WEB MATCHES "^(AUTO|ON|OFF)$")
        message(FATAL_ERROR "HAMMER_WEB=${HAMMER_WEB}: accepted is AUTO, ON or OFF")
    endif()
    if(NOT HAMMER_WEB STREQUAL "OFF")
        hammer_fetch_web(uplot)
    endif()
    if(HAMMER_WEB STREQUAL "ON" AND NOT uplot)
        message(FATAL_ERROR "HAMMER_WEB=ON, but there is no uPlot: apt-get install npm, and the network")
    endif()
    hammer_embed(${target} style ${HAMMER_WEB_SOURCES}/report.css)
    hammer_embed(${target} script ${HAMMER_WEB_SOURCES}/report.js)
    if(uplot)
        message(STATUS "uPlot embedded in HTML reports")
        hammer_embed(${target} uplot ${uplot}/dist/uPlot.iife.min.js)
        hammer_embed(${target} uplot_style ${uplot}/dist/uPlot.min.css)
        hammer_embed(${target} uplot_licence ${uplot}/LICENSE)
    else()
        message(STATUS "HTML reports have static charts only")
        hammer_embed(${target} uplot)
        hammer_embed(${target} uplot_style)
        hammer_embed(${target} uplot_licence)
    endif()
endfunction()
