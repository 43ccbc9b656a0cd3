#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints what the failed tests in a log of go test have said, of each the last 40 lines, so that it stands at the end of the output
# and not in the middle of it: hack/show-failures.sh LOG
set -euo pipefail

awk '
	$1 == "===" { test = $3; next }
	$1 == "---" && $2 == "FAIL:" { failed[++n] = $3; test = $3; next }
	$1 == "---" { test = ""; next }
	/^panic: |^WARNING: DATA RACE|^fatal error: / { test = $0; failed[++n] = test }
	/^(ok|FAIL|PASS)/ { test = ""; next }
	test != "" { said[test, ++lines[test]] = $0 }
	END {
		for (i = 1; i <= n; i++) {
			test = failed[i]
			if (!lines[test] || shown[test]++)
				continue
			print "==> failed: " test
			for (j = lines[test] > 40 ? lines[test] - 39 : 1; j <= lines[test]; j++)
				print said[test, j]
		}
	}' "$1"
