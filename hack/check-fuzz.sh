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

# name | file | original text | replacement. Entries for ticket.h and learn.h, and "learning", are for FuzzLearning, those for local.h and deliver.h for
# FuzzLocal (as is the super-packet: elsewhere the kernel refuses those of a test anyway), those for learn_local.h, and for local.h with
# "learning", for FuzzLocalLearning; "rewriting" and "restoring" are for FuzzRewriting.
faults='IPv4 options             | parse.h     | *(__u8 *)ip != 0x45                     | ip->version != 4
fragments                | parse.h     | ip->frag_off \& bpf_htons(0xbfff)        | 0
IPv4 length              | parse.h     | bpf_ntohs(ip->tot_len) + off != skb->len | 0
IPv6 length              | parse.h     | bpf_ntohs(ip->payload_len) + IP6_LEN + off != skb->len | 0
UDP length               | parse.h     | bpf_ntohs(udp->len) + off != skb->len   | 0
segments without ACK     | parse.h     | opens_or_ends(p) \|\| p->flags \& TCP_FLAG_ACK ?  | true ?
SYN, FIN and RST         | parse.h     | (TCP_FLAG_SYN \| TCP_FLAG_FIN \| TCP_FLAG_RST) | 0
TTL 1                    | parse.h     | p->ttl > 1                              | p->ttl > 0
VLAN tag beside a frame  | egress.h    | skb->vlan_present                       | 0
interface of the Pod     | egress.h    | ep->ifindex == skb->ifindex \&\&          | 
MAC of the Pod           | egress.h    | (same_macs(eth, ep->gateway_mac)        | (same_mac(eth->h_dest, ep->gateway_mac)
MTU                      | condition.h | inner + overhead <= node->mtu           | true
global generation        | condition.h | v->all_gen != c->generation             | 0
generation of the Pod    | condition.h | v->endpoint_gen != word_generation(endpoint_word(ep)) | 0
generation of the Node   | condition.h | v->node_gen != *peer                    | 0
other direction proved   | condition.h | (p->udp \&\& v->proved \& PROVED_OWN)     | v->proved & PROVED_OWN
own direction proved     | condition.h | (p->udp \&\& v->proved \& PROVED_OWN)     | p->udp
lease                    | condition.h | v->lease - bpf_jiffies64()              | 1ll << 62
recycled entry           | condition.h | == flow_hash(p)                         | != 0
outer source             | ingress.h   | !is_source(o, node)                     | 0
UDP super-packet         | order.h     | if (skb->gso_size) {                    | if (0) {
datagram behind it       | order.h     | (__s32)(s->end - (__u32)bpf_jiffies64()) > 0 | 0
outer destination MAC    | outer.h     | !same_mac(eth->h_dest, c->uplink_mac)   | 0
outer IPv4 checksum      | outer.h     | !ip4_intact(ip)                         | 0
outer UDP checksum       | outer.h     | udp->check \|\| !tunnel                 | !tunnel
tunnel header            | outer.h     | !tunnel_condition(udp + 1, c, told) \|\|        | 
packet for another host  | outer.h     | skb->pkt_type != PACKET_HOST \|\|       | 
CE that cannot be merged | tunnel.h    | return outer == ECN_NOT_ECT             | return true
CE outside               | tunnel.h    | ecn == ECN_CE ? ECN_ECT_0 : ecn         | ecn
source port              | tunnel.h    | hash ^= hash << 16                      | hash ^= hash << 15
hash that a packet has   | tunnel.h    | !known \|\| skb->hash                    | !known
checksum after CE        | csum.h      | bpf_htons(0xfffb)                       | bpf_htons(0xfffc)
checksum after the TTL   | csum.h      | check + (check >= 0xffff)               | check
stamp of the source      | stamp.h     | number = changed_at(from, to_number)    | number = to_number
stamp of the destination | stamp.h     | to_number = changed_at(to, 0)           | to_number = 0
no epoch is a stamp      | stamp.h     | MARK_STAMP \|                           | 
epoch                    | learn.h     | epoch != word_epoch(word)               | 0
no epoch                 | learn.h     | !epoch                                  | 0
identity of the packet   | ticket.h    | t->id != p->id \|\|                     | 
translated address       | ticket.h    | if (same4(before, p))                   | if (true)
translated own end       | ticket.h    | before->saddr == p->saddr \&\& before->sport == p->sport | true
DSCP changed             | ticket.h    | t->tos != p->tos \|\|                   | 
TTL behind Open vSwitch  | ticket.h    | (__u8)(t->ttl - 1) != p->ttl            | 0
number of another flow   | ticket.h    | } else if (same) {                      | } else if (1) {
number passed on         | ticket.h    | t->other = t->marked;                   | t->other = 0;
number taken meanwhile   | ticket.h    | r->apart < (__s64)TICKET_UNDERWAY_NS    | false
gateway: foreign mark    | gateway.h   | skb->mark \& ~(MARK_OURS \| MARK_NODE)    | 0
gateway: TTL             | egress.h    | (__u16)f->packets, !gateway)            | (__u16)f->packets, true)
gateway: source MAC      | ingress.h   | !same_sender(skb, o, f->macs)           | 0
translation: destination | egress.h    | \&to, false, ipv6)                      | \&to, true, ipv6)
translation: port        | translation.h | if (to->port != port \&\&              | if (to->port == port \&\&
translation: address     | translation.h | *addr = to->addr[0];                  | 
translation: IP checksum | translation.h | (__u16)~ip->check                     | (__u16)ip->check
translation: no checksum | translation.h | p->udp ? BPF_F_MARK_MANGLED_0 : 0     | 0
translation: checksum    | translation.h | bpf_l4_csum_replace(skb, check, 0, change, | bpf_l4_csum_replace(skb, check, 0, change + 1,
learning: answers of another peer | translation.h | if (!translated)                  | return true; if (!translated)
learning: not opened     | candidate.h | (opened == NOTE_OPENED \|\| opened == NOTE_EXPECTED) \&\& | 
learning: SYN-ACK to a Service | learn_egress.h | (fresh->to.port \|\| !may_begin(      | (!may_begin(
learning: SYN-ACK arrives | learn_ingress.h | opens_or_ends(l->p) \&\& !may_begin( | 0 * may_begin(
learning: header         | learn_egress.h | !learn_template(skb, c, node, fresh.v.node_gen) | 0
learning: source         | learn_egress.h | !sent_by(\&p, ep)                       | 0
learning: destination    | learn_ingress.h | !received_by(\&p, ep)                   | 0
learning: own socket     | learn_ingress.h | gateway \&\& !other                      | 0
learning: no agent       | learn.h     | (__s64)(c->until - bpf_jiffies64()) < 0 | 0
learning: share          | share.h     | !exhausted(l, n)                        | true
generation of the receiver | local.h   | valid_with(\&f->v, c, h->from, \&h->to->generation | valid_with(\&f->v, c, h->from, \&f->v.node_gen
interface of the sender  | local.h     | h->from->ifindex != skb->ifindex \|\|   | 
MAC of the sender        | local.h     | same_mac(eth->h_source, from) \&\&       | 
MAC of the receiver      | local.h     | same_mac(eth->h_dest, to)               | true
MTU of the receiver      | local.h     | !fits_device(skb, h->ifindex)           | 0
mark at the receiver     | deliver.h   | skb->mark = 0                           | skb->mark = skb->mark
end that is translated   | local.h     | translate(skb, L2_LEN, \&p, \&hit.t, hit.t.source, | translate(skb, L2_LEN, \&p, \&hit.t, false,
TTL of a routed packet   | local.h     | decrease_ttl4((void *)(eth + 1))        | (void)0
MAC of a routed packet   | local.h     | set_mac(eth->h_source, to->gateway_mac) | (void)0
learning: sender changed | learn_local.h | epoch != word_epoch(sender)             | 0
learning: receiver changed | learn_local.h | queue != word_epoch(receiver)           | 0
learning: no epoch       | learn_local.h | !epoch \|\| !queue                      | !queue
learning: no queue       | learn_local.h | !epoch \|\| !queue                      | !epoch
learning: routed         | learn_local.h | t->ttl == (__u8)(p->ttl + !!to->port)   | true
learning: DSCP           | learn_local.h | t->tos == p->tos \&\&                    | 
learning: translated end | learn_local.h | to->source = source \&\& to->port        | to->source = 0
learning: from another Pod | learn_local.h | !sent_by(\&p, from) \|\|                | 
learning: to another Pod | learn_local.h | !sent_by(\&back, to)                    | 0
learning: other interface | learn_local.h | to->ifindex != skb->ifindex \|\|        | 
learning: sender MAC     | local.h     | same_mac(eth->h_source, from) \&\&       | 
learning: receiver MAC   | local.h     | same_mac(eth->h_dest, to)               | true
learning: packet that is late | learn_local.h | fresh->to.port \&\& doubtful(t, l->p) | 0
learning: address of a Pod | learn_local.h | (to->port \&\& to_another_pod(         | (0 \&\& to_another_pod(
rewriting: key of another flow | rewrite.h | if (word << 40)                      | if (0)
rewriting: TTL           | rewrite.h   | if (word << 40)                         | if ((word \& ~0xffull) << 40)
rewriting: life of a key | keys.h      | (__s32)(((__u32)(word >> 24) - key_time(bpf_jiffies64())) << 8) <= 0 | 0
rewriting: DSCP          | rewrite.h   | p->tos \& ~ECN_MASK \|\| !p->whole      | !p->whole
rewriting: fragments     | rewrite.h   | \|\| !p->whole)                         | )
rewriting: checksum      | rewrite.h   | + change + moved                        | + change
rewriting: UDP super-packet | rewrite.h | (skb->gso_size \&\& (p->udp \|\| nested(skb))) | 0
restoring: owner         | restore.h   | !owned(r, o) \|\|                       | 
restoring: life of a key | restore.h   | !kept(r, c) \|\|                        | 
restoring: protocol      | restore.h   | r->key4.proto != p->key4.proto          | 0
restoring: MAC           | restore.h   | !same_mac(eth->h_dest, c->uplink_mac)   | 0
restoring: DSCP          | rewrite.h   | ip->tos \&= ECN_MASK                    | (void)0
restoring: TTL           | ingress.h   | r->ttl - 1, ipv6                        | r->ttl, ipv6
restoring: SYN, FIN, RST | restore.h   | !*r \|\| opens_or_ends(p)                  | !*r
restoring: place of the headers | restore.h | ipv6 ? OUTER6_LEN : OUTER4_LEN, \&p | L2_LEN, \&p
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
	"local.h learning"* | learn_local.h*) target=FuzzLocalLearning ;;
	local.h* | deliver.h* | "order.h UDP super-packet") target=FuzzLocal ;;
	ticket.h* | learn.h* | *learning*) target=FuzzLearning ;;
	esac
	begin=$SECONDS
	if (cd "$work/run" && ONCACHE_OBJECT=$work/run/fault.o "$work/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" \
		-test.fuzztime "$limit" -test.fuzzminimizetime 1x -test.parallel 2 -test.fuzzcachedir "$work/run/cache") >"$work/log" 2>&1; then
		printf '%-26s not found within %s\n' "$name" "$limit"
		missed=$((missed + 1))
	elif grep -qE 'let through|refused \(|not passed on|learned, but|mark 0x[0-9a-f]+, want' "$work/log"; then
		printf '%-26s found after %3d s: %s\n' "$name" $((SECONDS - begin)) "$(grep -m1 -oE 'learned, but.*|mark 0x.*|let through[^:]*: .*|let through.*design says|refused \([a-z_]*\).*|not a hit.*untouched' "$work/log")"
	else
		cat "$work/log"
		exit 1
	fi
done <<<"$faults"
[ ! "$match" ] || exit 0
echo "faults that the fuzz test did not find: $missed"
[ "$missed" = 0 ]
