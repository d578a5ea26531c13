#!/usr/bin/env bash
# Usage: tools/setup.sh app|training|dev
# Creates .venv with the pinned packages. Does nothing when the requirement files did not change
# since the last time (their contents are compared, not their dates).
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:?app, training or dev}
venv=.venv
case $kind in # each file includes the one before it
  app) files=(requirements.txt) ;;
  training) files=(requirements.txt requirements-training.txt) ;;
  dev) files=(requirements.txt requirements-training.txt requirements-dev.txt) ;;
  *) echo "Usage: tools/setup.sh app|training|dev" >&2 && exit 2 ;;
esac

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi
}

debian_package() { # debian_package NAME: install it, or say what to do
  echo "Installing the Debian package $1 …"
  if ! { as_root apt-get -qq update && as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$1" >/dev/null; }; then
    echo "Please install the package '$1' with your system's package manager and run this again." >&2
    exit 1
  fi
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3.11 python3.12 python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "Python 3.11 or 3.12 is needed and was not found; set PYTHON to its path." >&2
  return 1
}

if [ ! -x $venv/bin/python ]; then
  python=$(find_python)
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    debian_package "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
  fi
  rm -rf $venv
  "$python" -m venv $venv
fi

stamp=$venv/.installed-$kind
wanted=$(cat "${files[@]}" | sha256sum)
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  echo "Installing ${files[*]} into $venv (a few minutes the first time) …"
  $venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r "${files[-1]}"
  echo "$wanted" >"$stamp"
  if [ "$kind" != app ]; then sha256sum <requirements.txt >"$venv/.installed-app"; fi
  if [ "$kind" = dev ]; then cat requirements.txt requirements-training.txt | sha256sum >"$venv/.installed-training"; fi
fi

# The browser tests drive a real Chromium (tests/browser/conftest.py looks for the same names).
if [ "$kind" = dev ] && [ -z "${CHROMIUM:-}" ] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
  debian_package chromium
fi
