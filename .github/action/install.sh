#!/usr/bin/env bash
# Install benchlint into a virtual environment of its own: from the action's checkout, or a
# released version. Wheels only, so that no compiler is needed and no code of a package runs.
set -euo pipefail

python="${BENCHLINT_PYTHON:-python3}"
venv="$RUNNER_TEMP/benchlint-venv"
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "::error title=benchlint::Python 3.11 or newer is needed: put actions/setup-python before this action"
  exit 1
fi
extras="html,yaml"
[ "${BENCHLINT_REPRODUCE:-false}" != "true" ] || extras="html,yaml,reproduce"
if [ -n "${BENCHLINT_VERSION:-}" ]; then
  [[ "$BENCHLINT_VERSION" =~ ^[0-9][0-9A-Za-z.]*$ ]] || { echo "::error title=benchlint::version is none"; exit 1; }
  package="benchlint[$extras]==$BENCHLINT_VERSION"
else
  package="${BENCHLINT_SOURCE}[$extras]"
fi
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$package"
