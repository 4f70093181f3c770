#!/bin/sh
# publish-crates.sh [--dry-run]: every crate of the workspace that others can use, each after those that it needs.
set -eu
cd "$(dirname "$0")/.."
for crate in ermine-core ermine ermine-app ermine-web ermine-cli; do
    grep -qs "^name = \"$crate\"" crates/*/Cargo.toml || continue
    cargo publish --locked --package "$crate" "$@"
done
