#!/bin/sh
# Finds a Chromium, or installs Debian's where that is allowed. Without one the tests are skipped.
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
command -v apt-get >/dev/null || { echo "There is no Chromium here; its tests are skipped."; exit 0; }
as=""
[ "$(id -u)" = 0 ] || as="sudo -n"
echo "Installing Chromium (once) ..."
if ! { $as apt-get update && $as apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1; then
  echo "Chromium cannot be installed here; its tests are skipped."
fi
