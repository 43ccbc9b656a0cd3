#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Shows that test-conntrack finds faults: each line of the table below removes one mechanism that keeps conntrack correct,
# in a copy of the tree, and the comparison must then find differences. With --match it only checks that the table matches
# the code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go=${GO:-go} sequences=${SEQUENCES:-300} seed=${SEED:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name % file % original text % replacement
faults='idle connections (D1) % pkg/agent/oncache/tracking/runner.go % f.Protocol == unix.IPPROTO_TCP && % false &&
highest acknowledgement (D2) % pkg/agent/oncache/tracking/decide.go % forget = conntrack.Change{ % forget = conntrack.Change{}; var _ = conntrack.Change{
young UDP connections (D3) % bpf/oncache/learn.h % p->udp && bpf_ktime % false && bpf_ktime
data that is unacknowledged % pkg/agent/oncache/tracking/decide.go % case egress || ingress: % case false:
window of 0 % pkg/agent/oncache/tracking/decide.go % case c.zeroWindow(): % case false:
both ends open % bpf/oncache/candidate.h % && note_of(p) != NOTE_OPENED % 
end of a segment % bpf/oncache/seen.h % bpf_ntohl(p->l4) + data % bpf_ntohl(p->l4)'

match=${1:-}
mkdir "$work/tree"
git ls-files -z | xargs -0 cp --parents -t "$work/tree"
missed=0
while IFS= read -r line; do
	IFS=$'\t' read -r name file from to <<<"${line// % /$'\t'}"
	cp "$file" "$work/tree/$file"
	FROM=$from TO=$to perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$work/tree/$file"
	if cmp -s "$file" "$work/tree/$file"; then
		echo "$name: $file has no \"$from\" any more; bring hack/check-conntrack.sh up to date"
		exit 1
	fi
	[ ! "$match" ] || continue
	(cd "$work/tree" && "$go" generate ./pkg/agent/oncache/datapath/internal/object && "$go" build -o "$work/conntrack" ./test/conntrack)
	if "$work/conntrack" -sequences "$sequences" -seed "$seed" >"$work/log" 2>&1; then
		printf '%-28s not found in %s sequences\n' "$name" "$sequences"
		missed=$((missed + 1))
	elif grep -qE '^conntrack: sequences=[0-9]+ packets=[0-9]+ differences=[1-9]' "$work/log"; then
		printf '%-28s found: %s\n' "$name" "$(tail -n 1 "$work/log")"
	else
		cat "$work/log"
		exit 1
	fi
	cp "$file" "$work/tree/$file"
done <<<"$faults"
[ ! "$match" ] || exit 0
echo "faults that test-conntrack did not find: $missed"
[ "$missed" = 0 ]
