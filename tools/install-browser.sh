#!/bin/sh
# Installs a browser for the test of reports (python/tests/test_report.py), on systems with apt.
set -eu
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
    exit 0
fi
command -v apt-get >/dev/null || { echo "no apt-get here: install Chromium by hand" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "run as root, or install Chromium by hand" >&2; exit 1; }
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
