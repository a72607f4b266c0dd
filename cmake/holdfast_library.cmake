# One call makes a library of ours: its target, its headers, its install rules, its place in find_package and pkg-config,
# and, for an engine, its line in the table behind holdfast::open().
#
#   holdfast_library(sqlite
#       HEADERS sqlite.hpp                    below include/holdfast/, installed, each compiled alone in preset dev
#       SOURCES backend.cpp …
#       SCHEMES sqlite                        what open() calls it; only engines have these
#       FIND "SQLite3"                        arguments of find_package, here and again at the user's
#       LINK PUBLIC holdfast::core PRIVATE SQLite::SQLite3
#       PKGCONFIG sqlite3)                    what LINK means in the language of pkg-config
#
# gives holdfast_sqlite, alias holdfast::sqlite; component `sqlite` of find_package(holdfast); module `holdfast-sqlite`;
# and the switch HOLDFAST_SQLITE. Switched off, nothing is built or looked for, but open() still knows the scheme and can
# say which library is missing.
#
# How an engine gets into open() by being linked: core refers to holdfast_engine_sqlite weakly, and a weak reference
# pulls nothing out of an archive. So whoever links holdfast::sqlite also gets --undefined=holdfast_engine_sqlite, which
# does. ENGINE names the engine where it is not called like its library: memory lives inside core.

set(HOLDFAST_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(holdfast_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ENGINE" "HEADERS;SOURCES;SCHEMES;FIND;LINK;PKGCONFIG")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "holdfast_library(${name}): not understood: ${arg_UNPARSED_ARGUMENTS}")
    endif()

    if(NOT arg_ENGINE)
        set(arg_ENGINE ${name})
    endif()
    foreach(scheme IN LISTS arg_SCHEMES)
        set_property(GLOBAL APPEND_STRING PROPERTY HOLDFAST_ENGINES "HOLDFAST_ENGINE(${arg_ENGINE}, \"${scheme}\")\n")
    endforeach()
    if(NOT name STREQUAL "core")
        string(TOUPPER "HOLDFAST_${name}" switch)
        option(${switch} "Build holdfast::${name}" ON)
        if(NOT ${switch})
            return()
        endif()
    endif()

    foreach(package IN LISTS arg_FIND)
        separate_arguments(package UNIX_COMMAND "${package}")
        find_package(${package} REQUIRED)
    endforeach()

    set(target holdfast_${name})
    list(TRANSFORM arg_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/holdfast/")
    add_library(${target} STATIC ${arg_SOURCES})
    add_library(holdfast::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
    holdfast_compile(${target})
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${arg_HEADERS})
    if(arg_LINK)
        target_link_libraries(${target} ${arg_LINK})
    endif()

    set(pull "")
    if(arg_SCHEMES)
        set(pull "-Wl,--undefined=holdfast_engine_${arg_ENGINE} ")
        target_link_options(${target} INTERFACE "LINKER:--undefined=holdfast_engine_${arg_ENGINE}")
    endif()

    # Those of our own libraries that must be found before this one.
    set(ours ${arg_LINK})
    list(FILTER ours INCLUDE REGEX "^holdfast::")
    list(TRANSFORM ours REPLACE "^holdfast::" "")
    holdfast_install_library(${name} "${ours}" "${arg_FIND}" "${arg_PKGCONFIG}" "${pull}")
endfunction()

# engines.inc, one line for each scheme of each engine, in the order of the calls; after the last of them.
function(holdfast_write_engine_table file)
    get_property(lines GLOBAL PROPERTY HOLDFAST_ENGINES)
    file(CONFIGURE OUTPUT "${file}" CONTENT "// Written by cmake/holdfast_library.cmake: (engine, URL scheme).\n${lines}" @ONLY)
endfunction()

function(holdfast_install_library name ours find pkgconfig pull)
    set(target holdfast_${name})
    set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
    set(module_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

    if(NOT TARGET holdfast_installed)   # all that `cmake --install` needs, and nothing else
        add_custom_target(holdfast_installed)
    endif()
    add_dependencies(holdfast_installed ${target})
    install(TARGETS ${target} EXPORT ${target} ARCHIVE FILE_SET HEADERS)
    install(EXPORT ${target} NAMESPACE holdfast:: DESTINATION "${package_dir}" FILE holdfast-${name}-target.cmake)

    # The component: the libraries it stands on, then the target itself.
    set(wanted "")
    foreach(component IN LISTS ours)
        string(APPEND wanted "include(\"\${CMAKE_CURRENT_LIST_DIR}/holdfast-${component}.cmake\")\n")
    endforeach()
    foreach(package IN LISTS find)
        string(APPEND wanted "find_dependency(${package})\n")
    endforeach()
    set(component "${CMAKE_CURRENT_BINARY_DIR}/holdfast-${name}.cmake")
    file(CONFIGURE OUTPUT "${component}" @ONLY CONTENT
        "${wanted}include(\"\${CMAKE_CURRENT_LIST_DIR}/holdfast-${name}-target.cmake\")\n")
    install(FILES "${component}" DESTINATION "${package_dir}")

    # The module. A static archive needs its friends on the link line, so they are public requirements.
    file(RELATIVE_PATH prefix "/${module_dir}" "/")
    string(REGEX REPLACE "/$" "" prefix "${prefix}")
    list(TRANSFORM ours PREPEND "holdfast-")
    list(JOIN ours " " ours)
    list(JOIN pkgconfig " " pkgconfig)
    string(STRIP "${ours} ${pkgconfig}" requires)
    set(module "${CMAKE_CURRENT_BINARY_DIR}/holdfast-${name}.pc")
    configure_file("${HOLDFAST_CMAKE_DIR}/holdfast.pc.in" "${module}" @ONLY)
    install(FILES "${module}" DESTINATION "${module_dir}")
endfunction()

function(holdfast_install_package)
    include(CMakePackageConfigHelpers)
    set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
    set(version_file "${CMAKE_CURRENT_BINARY_DIR}/holdfast-config-version.cmake")
    write_basic_package_version_file("${version_file}" COMPATIBILITY SameMinorVersion)
    install(FILES "${HOLDFAST_CMAKE_DIR}/holdfast-config.cmake" "${version_file}" DESTINATION "${package_dir}")
endfunction()
