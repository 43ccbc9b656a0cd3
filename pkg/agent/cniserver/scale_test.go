// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var manyPods = flag.Int("pods", 100, "how many Pods TestManyPods connects")

// The server has no limit that prevents more than 1,024 Pods on a Node (-pods=2000), and its own work takes as long for
// the last Pod as for the first. host-local does slow down: at each ADD it reads all leases, twice.
func TestManyPods(t *testing.T) {
	h := newReadyHarness(t, func(c *Config) { c.Node.PodIPv4CIDR = netip.MustParsePrefix("10.10.0.0/20") })
	pods := make([]*pod, *manyPods)
	steps := map[string][]time.Duration{}
	last := time.Time{}
	h.server.afterStep = func(step string) {
		steps[step] = append(steps[step], time.Since(last))
		last = time.Now()
	}
	for i := range pods {
		// A Deployment's Pods have the same first characters: only the hash distinguishes the names of their interfaces.
		pods[i] = h.newPod(fmt.Sprintf("frontend-%d", i))
		last = time.Now()
		response, err := h.server.CmdAdd(t.Context(), h.request(pods[i]))
		require.NoError(t, err)
		if e := response.GetError(); e != nil {
			// The hash has 24 bits. The runtime's next sandbox has another ID.
			require.Contains(t, e.Message, "is used by another container")
			h.requireLeases(i)
			pods[i].containerID += "-again"
			h.mustAdd(pods[i])
		}
	}
	h.requireLeases(len(pods))
	require.Len(t, h.flows.all(), len(pods))
	require.Len(t, h.store.ListInterfaces(), len(pods))
	sample := len(pods) / 5
	h.server.afterStep = nil
	var first, atLast time.Duration
	for step, took := range steps {
		if len(took) < len(pods) {
			continue // of an ADD that was undone
		}
		// The shortest of each step: other programs on the machine make the others longer.
		early, late := slices.Min(took[:sample]), slices.Min(took[len(took)-sample:])
		t.Logf("%s: %s at first, %s at last", step, early, late)
		if step != "address leased" {
			first, atLast = first+early, atLast+late
		}
	}
	t.Logf("%d ADDs without host-local, the shortest steps of the first %d: %s, of the last: %s", len(pods), sample, first, atLast)
	require.Positive(t, first)
	require.Less(t, atLast, 3*first+20*time.Millisecond)

	var deleting sync.WaitGroup
	for part := range slices.Chunk(pods, len(pods)/8+1) {
		deleting.Go(func() {
			for _, p := range part {
				if response, err := h.server.CmdDel(t.Context(), h.request(p)); err != nil || response.Error != nil {
					t.Errorf("%s: %v %v", p.name, err, response)
				}
			}
		})
	}
	deleting.Wait()
	h.requireLeases(0)
	require.Empty(t, h.flows.all())
	require.Empty(t, h.store.ListInterfaces())
}

func (h *harness) requireLeases(n int) {
	h.t.Helper()
	require.Len(h.t, h.leaseOwners(), n)
}
