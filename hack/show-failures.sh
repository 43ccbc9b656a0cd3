#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints the output of the failed tests in a log of go test, the last 40 lines of each, and the first lines of a crash, so
# that it is at the end of the output and not in the middle: hack/show-failures.sh LOG
set -euo pipefail

awk '
	function fail(name) { failed[++n] = test = name }
	$1 == "===" { test = $3; next }
	$1 == "---" && $2 == "FAIL:" { fail($3); next }
	$1 == "---" { test = ""; next }
	/^panic: |^WARNING: DATA RACE|^fatal error: / { fail($0); crash[test] = 1 }
	/^FAIL\t.*\[build failed\]/ { fail($2 " does not build") }
	/^# / { test = $2 " does not build" }
	/^(ok|FAIL|\?) *\t|^(FAIL|PASS)$/ { test = ""; next }
	test != "" { said[test, ++lines[test]] = $0 }
	END {
		for (i = 1; i <= n; i++) {
			test = failed[i]
			if (shown[test]++)
				continue
			print "==> failed: " test
			from = !crash[test] && lines[test] > 40 ? lines[test] - 39 : 1
			for (j = from; j < from + 40 && j <= lines[test]; j++)
				print said[test, j]
		}
	}' "$1"
