# What the peers in Java have in common; sourced by redisson/peer and curator/peer, which say before:
#
#   $here               the folder with its Peer.java, and with `versions`: each pinned one and its fingerprint
#   $library            its name, for people and for files
#   place VERSION       where its jars are kept below $cache: one file, or a folder
#   class_path VERSION
#   download VERSION FOLDER      gets what belongs there with Maven, as the only thing in this folder
#   fingerprint PLACE
#
#   peer fetch            gets all pinned versions, checks them, compiles Peer.java against each
#   peer check VERSION    whether it could run. Exit status 69: not fetched, or no Java
#   peer run VERSION      becomes the Java program; needs no network
#   peer java VERSION FILE ARGUMENT…    another program in one file
#
# Jars and classes lie in a cache that all clones share.
set -uo pipefail

common=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd) || exit 70
cache=${HOLDFAST_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/peers}
dependency_plugin=org.apache.maven.plugins:maven-dependency-plugin:3.6.1
# Small and quick to start: there may be several of them on a small machine.
modest=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m)

give_up() { echo "$*" >&2; exit 69; }

main() {
    local version
    case ${1:-} in
        fetch) for version in $(pinned); do fetch "$version"; compile "$version"; done ;;
        check) ready "${2:-}" ;;
        run)
            ready "${2:-}"
            exec java "${modest[@]}" -cp "$(class_path "$2"):$(classes "$2")" Peer
            ;;
        java)
            need "${2:-}"
            exec java "${modest[@]}" -cp "$(class_path "$2")" "${@:3}"
            ;;
        *) echo "usage: peer fetch | peer check VERSION | peer run VERSION | peer java VERSION FILE ARGUMENT…" >&2; exit 64 ;;
    esac
}

need() { [[ -e $(place "$1") ]] || give_up "$library $1 is not here; '$0 fetch' gets it"; }
ready() {
    need "$1"
    command -v java >/dev/null || give_up "there is no Java here"
    compile "$1"
}
pinned() { awk '/^[0-9]/ { print $1 }' "$here/versions"; }
expected() { awk -v version="$1" '$1 == version { print $2 }' "$here/versions"; }
sources() { cat "$common/Driven.java" "$here/Peer.java"; }
classes() { echo "$cache/${library,,}-$1-$(sources | sha256sum | cut -c1-16)"; }

# Checked before it gets its name, so what has the name is good; two at once do no harm.
fetch() {
    local into made
    made=$(place "$1")
    [[ -e $made ]] && return
    command -v mvn >/dev/null || give_up "there is no Maven here"
    mkdir -p "$cache" && into=$(mktemp -d "$cache/fetching.XXXXXX") && mkdir "$into/jars" || give_up "cannot write to $cache"
    download "$1" "$into/jars" >"$into/log" 2>&1 ||
        { tail -n 5 "$into/log" >&2; rm -rf "$into"; give_up "$library $1 cannot be fetched"; }
    [[ $(fingerprint "$into/jars/${made##*/}") == "$(expected "$1")" ]] ||
        { rm -rf "$into"; give_up "$library $1 is not the one we pinned"; }
    mv -T "$into/jars/${made##*/}" "$made" 2>/dev/null # or somebody else was faster
    rm -rf "$into"
}

maven() { timeout -s KILL 300 mvn -B -q "$@"; }

compile() {
    local into
    [[ -d $(classes "$1") ]] && return
    command -v javac >/dev/null || give_up "there is no Java compiler here"
    into=$(mktemp -d "$cache/compiling.XXXXXX") || give_up "cannot write to $cache"
    javac -nowarn -XDsuppressNotes -d "$into" -cp "$(class_path "$1")" "$common/Driven.java" "$here/Peer.java" ||
        { rm -rf "$into"; exit 70; }
    mv -T "$into" "$(classes "$1")" 2>/dev/null || rm -rf "$into" # somebody else was faster
}
