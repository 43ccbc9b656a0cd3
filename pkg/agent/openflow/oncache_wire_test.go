// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// TestWireLocalEpochs: the datapath writes both Pods' epochs into packets of an open connection between two Pods of the Node.
func TestWireLocalEpochs(t *testing.T) { eachDatapath(t, testLocalEpochs) }

func testLocalEpochs(t *testing.T, w *wire) {
	require.NoError(t, w.c.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 7), markOf("pod-b", podBPort, 8)}))
	before := map[uint32][2]net.HardwareAddr{podAPort: macs[podAPort], podBPort: macs[podBPort]}
	macs[podAPort], macs[podBPort] = [2]net.HardwareAddr{podAMAC, podBMAC}, [2]net.HardwareAddr{podBMAC, podAMAC}
	t.Cleanup(func() { macs[podAPort], macs[podBPort] = before[podAPort], before[podBPort] })
	there, back := segment{src: "10.10.0.11:3001", dst: "10.10.0.12:8080"}, segment{src: "10.10.0.12:8080", dst: "10.10.0.11:3001"}
	for range 2 {
		w.pass(podAPort, there, podBPort, there)
		w.pass(podBPort, back, podAPort, back)
	}
	priority := func(queue int) string {
		if w.kernel {
			queue += 0x10001
		}
		return fmt.Sprintf("set(skb_priority(%#x))", queue)
	}
	flows := w.Appctl("dpctl/dump-flows", "-m")
	for _, want := range []string{priority(8) + ",set(skb_mark(0x700000/", priority(7) + ",set(skb_mark(0x800000/"} {
		require.Contains(t, flows, want)
	}
}
