#!/bin/sh
# Print the path of a Chromium that starts: $CHROMIUM, the system's, Debian's by apt as root, Playwright's own.
# Where there are two, the one without windows: it renders the same and takes a quarter less of the processor.
set -u
bin=${1:-.venv/bin}
starts() { [ -x "$1" ] && "$1" --version >/dev/null 2>&1; }
found() {
    for program in chromium-headless-shell chromium; do
        starts "/usr/bin/$program" && { echo "/usr/bin/$program"; exit 0; }
    done
}
if [ -n "${CHROMIUM:-}" ]; then
    starts "$CHROMIUM" && { echo "$CHROMIUM"; exit 0; }
    echo "CHROMIUM=$CHROMIUM is no program that starts" >&2
    exit 1
fi
found
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq; apt-get install -y -qq chromium-headless-shell || apt-get install -y -qq chromium; } >/dev/null 2>&1
    found
fi
PLAYWRIGHT_NODEJS_PATH=$("$bin/python" -c 'from hatch_build import find_node; print(find_node()[0])') # its own needs libatomic
export PLAYWRIGHT_NODEJS_PATH
if "$bin/python" -m playwright install chromium >/dev/null 2>&1; then
    own=$("$bin/python" -c 'from playwright.sync_api import sync_playwright as p
with p() as play: print(play.chromium.executable_path)')
    starts "$own" && { echo "$own"; exit 0; }
    echo "Playwright's Chromium does not start, libraries may be missing: sudo $bin/playwright install-deps chromium" >&2
    exit 1
fi
echo "no Chromium: install one and set CHROMIUM=/path/to/it" >&2
exit 1
