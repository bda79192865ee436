# What `cmake --install` puts where. A folder can be set, e.g. -D HAMMER_UNIT_DIR=/lib/systemd/system.
include(GNUInstallDirs)

set(HAMMER_UNIT_DIR lib/systemd/system CACHE STRING "where systemd units go")
set(HAMMER_SYSUSERS_DIR lib/sysusers.d CACHE STRING "where sysusers.d files go")
set(HAMMER_BASH_COMPLETION_DIR ${CMAKE_INSTALL_DATADIR}/bash-completion/completions CACHE STRING
    "where bash completions go")
set(HAMMER_ZSH_COMPLETION_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
    "where zsh completions go")
set(HAMMER_FISH_COMPLETION_DIR ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d CACHE STRING
    "where fish completions go")

install(TARGETS hammer-agent hammer-ctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        FILES_MATCHING PATTERN "*.md" PATTERN "report-schema.json" PATTERN "images/*.png"
        PATTERN generate EXCLUDE PATTERN man EXCLUDE)
install(FILES deploy/policy.yml DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# The service: hammer-agent reached by a local socket, by root and the members of the group hammer.
# Its unit names the program where it goes to.
set(unit deploy/systemd/hammer-agent.service)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${unit})
file(READ ${unit} unit_text)
string(REPLACE "/usr/bin/" "${CMAKE_INSTALL_FULL_BINDIR}/" unit_text "${unit_text}")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/hammer-agent.service CONTENT "${unit_text}")
install(FILES ${CMAKE_BINARY_DIR}/hammer-agent.service DESTINATION ${HAMMER_UNIT_DIR})
install(FILES deploy/systemd/hammer.conf DESTINATION ${HAMMER_SYSUSERS_DIR})
