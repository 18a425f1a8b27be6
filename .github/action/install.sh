#!/usr/bin/env bash
# Install benchlint into a virtual environment of its own: from the action's checkout, or a
# released version. Wheels only, so that no compiler is needed and no other package's code runs.
set -euo pipefail

fail() {
  echo "::error title=benchlint::$1"
  exit 1
}

python="${BENCHLINT_PYTHON:-python3}"
venv="$RUNNER_TEMP/benchlint-venv"
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  fail "Python 3.11 or newer is needed: put actions/setup-python before this action"
fi
extras="html"
[ "${BENCHLINT_REPRODUCE:-false}" != "true" ] || extras+=",reproduce"
# PyYAML only where a file may be a report in YAML: 1 says that none is, and no git says nothing.
found=0
git grep --no-index --exclude-standard --quiet --extended-regexp \
  "^[[:space:]{\"']*benchlint[\"']?[[:space:]]*:" -- '*.yaml' '*.yml' ':!.github' || found=$?
[ "$found" -eq 1 ] || extras+=",yaml"
if [ -n "${BENCHLINT_VERSION:-}" ]; then
  [[ "$BENCHLINT_VERSION" =~ ^[0-9][0-9A-Za-z.]*$ ]] ||
    fail "the input version is no version such as 1.2.0; leave it out for the one that comes with the action"
  package="benchlint[$extras]==$BENCHLINT_VERSION"
  hint="is benchlint $BENCHLINT_VERSION released? Leave out the input version for the one that comes with the action"
else
  package="${BENCHLINT_SOURCE}[$extras]"
  hint="it needs wheels of its dependencies from the package index"
fi
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
  --only-binary=:all: "$package" ||
  fail "benchlint could not be installed, pip says above why; $hint"
