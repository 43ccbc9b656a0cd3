// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// translation is the expected translation of connections to a Service with one Endpoint.
type translation struct {
	protocol      corev1.Protocol
	service, only netip.AddrPort
}

// waitTranslated waits until the switch of a Node has all translations: a flow that leads to a group, and the Endpoint in that. There may be many,
// which antctl would list one Service at a time.
func (s *suite) waitTranslated(t *testing.T, n *cluster.Node, wanted []translation) {
	t.Helper()
	ofctl := func(args ...string) []string {
		return strings.Split(succeeds(t, n.Space, append([]string{"ovs-ofctl", "-O", "OpenFlow15", "--names", "--no-stats"}, args...)...), "\n")
	}
	eventuallyWithin(t, 2*patience, "all Services to be on the switch of "+n.Name, func() error {
		flows, groups := ofctl("dump-flows", "br-int", "table=ServiceLB"), ofctl("dump-groups", "br-int")
		for _, w := range wanted {
			if !w.isIn(flows, groups) {
				return notYet(fmt.Sprintf("%s %v to %v is not there", w.protocol, w.service, w.only))
			}
		}
		return nil
	})
}

func (w translation) isIn(flows, groups []string) bool {
	protocol, field, register := strings.ToLower(string(w.protocol)), "nw_dst", "reg3"
	if w.service.Addr().Is6() {
		protocol, field, register = protocol+"6", "ipv6_dst", "xxreg3"
	}
	match := []string{"," + protocol + ",", fmt.Sprintf(",%s=%v,", field, w.service.Addr()), fmt.Sprintf(",tp_dst=%d ", w.service.Port())}
	i := slices.IndexFunc(flows, func(line string) bool { return containsAll(line, match) })
	if i < 0 {
		return false
	}
	_, group, _ := strings.Cut(flows[i], "group:")
	address := new(big.Int).SetBytes(w.only.Addr().AsSlice())
	bucket := []string{fmt.Sprintf(" group_id=%s,", group), fmt.Sprintf("set_field:%#x->%s,", address, register), fmt.Sprintf("set_field:%#x/0xffff->reg4", w.only.Port())}
	return slices.ContainsFunc(groups, func(line string) bool { return containsAll(line, bucket) })
}
