// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/share"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const (
	otherPort  = 12
	egressDrop = "\x01\x02"
)

// from is a datagram that has arrived at the port, with its own source port.
func from(t *testing.T, port uint32, sourcePort uint16, userData string) *of.PacketIn {
	t.Helper()
	p := leaving(t, port, userData)
	binary.BigEndian.PutUint16(p.Data[34:], sourcePort)
	return &p
}

// A Pod that floods the log with lines of which no two are equal uses up its own share. Lines of other Pods are all there, and a line every 10
// seconds says what is missing.
func TestFloodLeavesLinesOfOthers(t *testing.T) {
	store := interfaces()
	store.AddInterface(&interfacestore.InterfaceConfig{
		Type: interfacestore.ContainerInterface, InterfaceName: "db-1", OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: otherPort},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodNamespace: "shop", PodName: "db"},
	})
	const seconds, flood, allowed = 60, 500, egressDrop + "K8sNetworkPolicy:shop/web"
	for name, userData := range map[string]string{"dropped": egressDrop, "allowed": allowed} {
		t.Run(name, func(t *testing.T) {
			var file strings.Builder
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			w := newWriter(&Logger{decisions: decisions(t), interfaces: store, clock: clock}, &file)
			for second := range seconds {
				for i := range flood {
					w.handle(from(t, podPort, uint16(second*flood+i), userData))
				}
				w.handle(from(t, otherPort, uint16(second), userData))
				clock.Step(time.Second)
				w.writeDue()
			}
			w.flush()
			lines := map[string]int{}
			for text := range strings.Lines(file.String()) {
				fields := strings.Fields(text)
				lines[fields[8]+" "+fields[6]]++
				require.GreaterOrEqual(t, len(fields), 16, text)
			}
			action := map[string]string{"dropped": "Drop", "allowed": "Allow"}[name]
			require.Equal(t, map[string]int{
				"shop/db " + action: seconds, "shop/web " + action: share.Burst + (seconds-1)*share.PerSecond, "shop/web Suppressed": 6,
			}, lines, "the Pod and the action of each line")
			require.Contains(t, file.String(), " <nil> <nil> <nil> Egress Suppressed <nil> shop/web <nil> <nil> <nil> <nil> <nil> 0 <nil> [")
			require.Less(t, file.Len(), 200*(share.Burst+seconds*(share.PerSecond+2)), "bytes")
		})
	}
}

// The known sender of a packet pays, also if another Pod's policies drop it. Packets from elsewhere do not use the
// Pod's own share.
func TestWhoPays(t *testing.T) {
	w := newWriter(&Logger{interfaces: interfaces(), clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}, &strings.Builder{})
	ingress := openflow.PolicyPacket{Direction: 1, PodPort: otherPort, InPort: podPort}
	require.Equal(t, payer{podPort, 2}, w.payer(&openflow.PolicyPacket{Direction: 2, PodPort: podPort, InPort: podPort}))
	require.Equal(t, payer{podPort, 2}, w.payer(&ingress))
	ingress.InPort = 2
	require.Equal(t, payer{otherPort, 1}, w.payer(&ingress), "from the gateway")
}
