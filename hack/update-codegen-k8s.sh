#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Generates deep copies and conversions of the API types with the generators of k8s.io/code-generator, in the versions that
# go.mod pins.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

header="$(mktemp)"
trap 'rm -f "$header"' EXIT
cat >"$header" <<'END'
// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

END

go tool deepcopy-gen --go-header-file "$header" --output-file zz_generated.deepcopy.go \
    ./pkg/apis/controlplane ./pkg/apis/controlplane/v1beta2 ./pkg/apis/stats/v1alpha1
go tool conversion-gen --go-header-file "$header" --output-file zz_generated.conversion.go \
    ./pkg/apis/controlplane/v1beta2
