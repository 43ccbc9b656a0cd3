#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes targets one after the other and says how long each took: run-stages.sh TARGET... A target written as "TARGET&" runs beside
# those that follow, with what they leave of the processors; its output is shown when it has ended.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

logs=$(mktemp -d)
declare -A beside=()
summary=

cleanup() {
  local pid
  for pid in "${beside[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
  rm -rf "$logs"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

failed() { # TARGET SECONDS
  echo "==> $1 FAILED after $2 s"
  exit 1
}

# A session of its own can be ended as a whole; where the kernel shares processors between sessions first, it also has to be
# that session that yields.
start_beside() {
  setsid nice -n 19 bash -c 'echo 19 >/proc/self/autogroup; exec make --no-print-directory "$0"' "$1" >"$logs/$1" 2>&1 &
  beside[$1]=$!
}

for stage in "$@"; do
  if [ "${stage%&}" != "$stage" ]; then
    echo "==> ${stage%&} begins, beside what follows"
    start_beside "${stage%&}"
    continue
  fi
  echo "==> $stage"
  begin=$SECONDS
  make --no-print-directory "$stage" || failed "$stage" $((SECONDS - begin))
  summary+=" $stage $((SECONDS - begin)) s;"
done
for stage in "${!beside[@]}"; do
  status=0
  wait "${beside[$stage]}" || status=$?
  unset "beside[$stage]"
  echo "==> $stage"
  cat "$logs/$stage"
  [ $status = 0 ] || failed "$stage" $SECONDS
  summary+=" $stage beside;"
done
echo "==> passed:$summary total $SECONDS s"
