#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Generates the Go files of every .proto file under pkg/ next to it. Needs protoc on PATH. The two Go plugins are built from
# the versions in go.mod, so that the output depends only on protoc's own version. That is checked because it is written
# into the output. With --verify it generates into a temporary folder and fails if the tree differs.

set -euo pipefail

# The release that protoc-gen-go calls "v3.21.12" and others "21.12".
readonly PROTOC_VERSION="3.21.12"

cd "$(dirname "${BASH_SOURCE[0]}")/.."

verify=false
case "${1:-}" in
"") ;;
--verify) verify=true ;;
*)
    echo "usage: $0 [--verify]" >&2
    exit 2
    ;;
esac

found="$(protoc --version | awk '{print $2}')"
if [[ "$found" != "$PROTOC_VERSION" ]]; then
    echo "protoc $found is on PATH, want $PROTOC_VERSION (Debian 12: protobuf-compiler)" >&2
    exit 1
fi

tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin" "$tmp/out"
go build -trimpath -o "$tmp/bin/" \
    google.golang.org/protobuf/cmd/protoc-gen-go \
    google.golang.org/grpc/cmd/protoc-gen-go-grpc

mapfile -t protos < <(find pkg -name '*.proto' | LC_ALL=C sort)
# One call per file: files of different Go packages may not share one.
for proto in "${protos[@]}"; do
    PATH="$tmp/bin:$PATH" protoc -I . \
        --go_out="$tmp/out" --go_opt=paths=source_relative \
        --go-grpc_out="$tmp/out" --go-grpc_opt=paths=source_relative \
        "$proto"
done

status=0
while IFS= read -r file; do
    if ! $verify; then
        cp "$tmp/out/$file" "$file"
    elif ! diff -u "$file" "$tmp/out/$file"; then
        echo "$file is out of date: run hack/update-codegen-proto.sh" >&2
        status=1
    fi
done < <(cd "$tmp/out" && find . -name '*.go' | LC_ALL=C sort)
exit $status
