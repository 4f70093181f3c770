#!/bin/sh
# release-notes.sh VERSION: the part of CHANGELOG.md about this version; fails if there is none.
set -eu
notes=$(awk -v version="$1" '
    /^## / { inside = index($0, "## " version) == 1 || index($0, "## [" version "]") == 1; next }
    inside { print }' "$(dirname "$0")/../CHANGELOG.md")
[ -n "$notes" ] || { echo "CHANGELOG.md has nothing about $1" >&2; exit 1; }
printf '%s\n' "$notes"
