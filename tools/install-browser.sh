#!/bin/sh
# Installs what pages are tested with, on systems with apt: a browser (python/tests/test_report.py), and Node for the
# checks of types.
set -eu
missing=
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
    missing="chromium fonts-dejavu-core"
command -v npm >/dev/null || missing="$missing nodejs npm"
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null || { echo "no apt-get here: install $missing by hand" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "run as root, or install $missing by hand" >&2; exit 1; }
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing
