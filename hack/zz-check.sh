#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Shows that the fuzz tests of the eBPF programs find faults: each line of the table below removes one check from the
# programs, or makes one change wrong, and one of the fuzz targets, which start only with packets that are hits or are learned,
# must find it within FUZZTIME packets (a number such as 1000x, or a duration). The default is what a target passes in two minutes on an idle
# machine of two cores; on a busy one a duration says nothing. With --match it only checks that the table matches the programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

limit=${FUZZTIME:-400000x} match=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name | file | original text | replacement. Entries for ticket.h and learn.h, and "learning", are for FuzzLearning, those for local.h for
# FuzzLocal or, with "learning", FuzzLocalLearning; "rewriting" and "restoring" are for FuzzRewriting.
faults='rewriting: key of another flow | rewrite.h | (__u32)word != hash \|\|             | 
rewriting: TTL           | rewrite.h   | (__u8)(word >> 48) != ttl               | 0
rewriting: life of a key | rewrite.h   | (__s32)(f->keys.until - key_time(bpf_jiffies64())) <= 0 | 0
rewriting: DSCP          | rewrite.h   | p->tos \& ~ECN_MASK \|\| reached        | reached
rewriting: fragments     | rewrite.h   | !(ip->frag_off \& bpf_htons(IP4_DF))   | 0
rewriting: IP version    | rewrite.h   | reached_by_ip6(node) != ipv6            | 0
rewriting: checksum      | rewrite.h   | + change + moved                        | + change
rewriting: UDP super-packet | rewrite.h | (skb->gso_size \&\& p->udp)             | 0
restoring: owner         | restore.h   | !owned(r, o) \|\|                       | 
restoring: life of a key | restore.h   | !kept(r, c) \|\|                        | 
restoring: protocol      | restore.h   | r->key4.proto != p->key4.proto          | 0
restoring: MAC           | restore.h   | !same_mac(eth->h_dest, c->uplink_mac)   | 0
restoring: DSCP          | rewrite.h   | ip->tos \&= ECN_MASK                    | (void)0
restoring: TTL           | ingress.h   | r->ttl - 1, ipv6                        | r->ttl, ipv6
restoring: SYN, FIN, RST | ingress.h   | p.syn_fin_rst \|\| c->mode != MODE_ENFORCE | c->mode != MODE_ENFORCE
restoring: outer checksum | restore.h  | ~ip4_sum(ip)                            | ip4_sum(ip)'

trim() { sed -e 's/^ *//' -e 's/ *$//' <<<"$1"; }

[ "$match" ] || echo "building the fuzz test"
[ "$match" ] || go test -c -fuzz . -o "$work/fuzz.test" ./pkg/agent/oncache/datapath/oracle
missed=0
while IFS= read -r line; do
	# A bar of the table stands alone; one of C has a backslash before it.
	IFS=$'\t' read -r name file from to <<<"$(sed -e 's/ | /\t/; s/ | /\t/; s/ | */\t/' <<<"$line")"
	name=$(trim "$name") file=$(trim "$file") from=$(trim "$from") to=$(trim "$to")
	rm -rf "$work/c" "$work/run"
	mkdir -p "$work/run"
	cp -r bpf/oncache "$work/c"
	from=${from//'\|'/'|'} from=${from//'\&'/'&'}
	FROM=$from TO=$to perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$work/c/$file"
	if cmp -s "bpf/oncache/$file" "$work/c/$file"; then
		echo "$name: $file has no \"$from\" any more; bring hack/check-fuzz.sh up to date"
		exit 1
	fi
	[ ! "$match" ] || continue
	clang-14 -O2 -g -mcpu=v3 -target bpf -Wno-unused -I/usr/include/x86_64-linux-gnu -c "$work/c/oncache.bpf.c" -o "$work/run/fault.o"
	target=FuzzCases
	case "$file $name" in
	*" rewriting:"* | *" restoring:"*) target=FuzzRewriting ;;
	"local.h learning"*) target=FuzzLocalLearning ;;
	local.h*) target=FuzzLocal ;;
	ticket.h* | learn.h* | *learning*) target=FuzzLearning ;;
	esac
	begin=$SECONDS
	if (cd "$work/run" && ONCACHE_OBJECT=$work/run/fault.o "$work/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" \
		-test.fuzztime "$limit" -test.fuzzminimizetime 1x -test.parallel 2 -test.fuzzcachedir "$work/run/cache") >"$work/log" 2>&1; then
		printf '%-26s not found within %s\n' "$name" "$limit"
		missed=$((missed + 1))
	elif grep -qE 'let through|refused \(|not passed on|learned, but' "$work/log"; then
		printf '%-26s found after %3d s: %s\n' "$name" $((SECONDS - begin)) "$(grep -m1 -oE 'learned, but.*|let through[^:]*: .*|let through.*design says|refused \([a-z_]*\).*|not a hit.*untouched' "$work/log")"
	else
		cat "$work/log"
		exit 1
	fi
done <<<"$faults"
[ ! "$match" ] || exit 0
echo "faults that the fuzz test did not find: $missed"
[ "$missed" = 0 ]
