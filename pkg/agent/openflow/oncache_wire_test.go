// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// TestWireLocalEpochs: the datapath writes both Pods' epochs into packets of an open connection between two Pods of the Node.
func TestWireLocalEpochs(t *testing.T) { eachDatapath(t, testLocalEpochs) }

func testLocalEpochs(t *testing.T, w *wire) {
	require.NoError(t, w.C.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7), oftest.MarkOf("pod-b", oftest.PodBPort, 8)}))
	before := map[uint32][2]net.HardwareAddr{oftest.PodAPort: macs[oftest.PodAPort], oftest.PodBPort: macs[oftest.PodBPort]}
	macs[oftest.PodAPort], macs[oftest.PodBPort] = [2]net.HardwareAddr{oftest.PodAMAC, oftest.PodBMAC}, [2]net.HardwareAddr{oftest.PodBMAC, oftest.PodAMAC}
	t.Cleanup(func() {
		macs[oftest.PodAPort], macs[oftest.PodBPort] = before[oftest.PodAPort], before[oftest.PodBPort]
	})
	there, back := segment{src: "10.10.0.11:3001", dst: "10.10.0.12:8080"}, segment{src: "10.10.0.12:8080", dst: "10.10.0.11:3001"}
	for range 2 {
		w.pass(oftest.PodAPort, there, oftest.PodBPort, there)
		w.pass(oftest.PodBPort, back, oftest.PodAPort, back)
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
