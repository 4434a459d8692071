#!/bin/sh
# Print the path of a Chromium for the browser tests: $CHROMIUM, the system's, Debian's by apt as root, Playwright's own.
set -u
bin=${1:-.venv/bin}
if [ -n "${CHROMIUM:-}" ]; then
    [ -x "$CHROMIUM" ] && { echo "$CHROMIUM"; exit 0; }
    echo "CHROMIUM=$CHROMIUM is no program" >&2
    exit 1
fi
[ -x /usr/bin/chromium ] && { echo /usr/bin/chromium; exit 0; }
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1 && [ -x /usr/bin/chromium ] && { echo /usr/bin/chromium; exit 0; }
fi
if "$bin/python" -m playwright install chromium >/dev/null 2>&1; then
    "$bin/python" -c 'from playwright.sync_api import sync_playwright as p
with p() as play: print(play.chromium.executable_path)' && exit 0
fi
echo "no Chromium: install one and set CHROMIUM=/path/to/it" >&2
exit 1
