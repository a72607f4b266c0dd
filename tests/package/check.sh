#!/usr/bin/env bash
# check.sh find_package | missing_component | pkg_config | subdirectory
#
# Builds the program in outside/ against holdfast as its user would get it, in a folder of its own, and runs it.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CMAKE_GENERATOR=Ninja
launcher=${CMAKE_CXX_COMPILER_LAUNCHER:-}

main() {
    case $1 in
        find_package)
            install_holdfast
            "$CMAKE" -S "$here/outside" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release -DEXTRA="mysql;postgres;prometheus;spdlog"
            "$CMAKE" --build "$work/build"
            takes_a_lock "$work/build/outside"
            prints_tables "$work/build/tables"
            ;;
        missing_component)
            install_holdfast
            if "$CMAKE" -S "$here/outside" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DEXTRA=telegraph \
                >"$work/log" 2>&1; then
                fail "a component that does not exist was found"
            fi
            # CMake breaks long lines where it likes.
            tr -s ' \n' ' ' <"$work/log" | grep -oF "no component 'telegraph'; it was installed with:" ||
                { cat "$work/log"; fail "the message does not say what is missing"; }
            ;;
        pkg_config)
            install_holdfast
            PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name holdfast-core.pc)")
            export PKG_CONFIG_PATH
            # As everybody types it, with the flags left to the shell.
            # shellcheck disable=SC2046
            $launcher "$CXX" -std=c++20 -c -o "$work/main.o" "$here/outside/main.cpp" $(pkg-config --cflags holdfast-sqlite)
            # shellcheck disable=SC2046
            "$CXX" -o "$work/outside" "$work/main.o" $(pkg-config --libs holdfast-sqlite)
            takes_a_lock "$work/outside"
            # shellcheck disable=SC2046
            $launcher "$CXX" -std=c++20 -c -o "$work/tables.o" "$here/outside/tables.cpp" $(pkg-config --cflags holdfast-mysql holdfast-postgres)
            # shellcheck disable=SC2046
            "$CXX" -o "$work/tables" "$work/tables.o" $(pkg-config --libs holdfast-mysql holdfast-postgres)
            prints_tables "$work/tables"
            ;;
        subdirectory)
            "$CMAKE" -S "$here/inside" -B "$work/build" -DHOLDFAST_SOURCE="$HOLDFAST_SOURCE" -DCMAKE_BUILD_TYPE=Release
            [[ ! -e $work/build/holdfast/tests && ! -e $work/build/holdfast/cli ]] ||
                fail "a part of another project builds tests and programs nobody asked for"
            "$CMAKE" --build "$work/build" --target outside
            takes_a_lock "$work/build/outside"
            ;;
        *) fail "there is no check '$1'" ;;
    esac
}

install_holdfast() {
    "$CMAKE" --install "$HOLDFAST_BUILD" --prefix "$work/prefix" >/dev/null
    # What was installed must not point back to where it was built.
    if grep -rIlF -e "$HOLDFAST_BUILD" -e "$HOLDFAST_SOURCE" "$work/prefix"; then
        fail "the installed files above name the folder they were built in"
    fi
}

takes_a_lock() {
    local fence
    mkdir "$work/locks"
    fence=$("$1" "$work/locks/locks.db")
    [[ $fence =~ ^[1-9][0-9]*$ ]] || fail "expected a fence, got '$fence'"
    echo "holds the lock under fence $fence"
}

prints_tables() {
    local text
    text=$("$1")
    [[ $text == *"CREATE TABLE"*ours_lock*"CREATE TABLE"*theirs_lock* ]] || fail "expected tables, got '$text'"
    echo "prints the tables of databases"
}

fail() {
    echo "check.sh: $*" >&2
    exit 1
}

main "$@"
