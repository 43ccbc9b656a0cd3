// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

// BenchmarkScale measures the controller, without a switch, with 100,000 rules of 10,000 policies on one Node. The switch
// refuses some of them.
func BenchmarkScale(b *testing.B) {
	const policies, rules = 10_000, 10
	for _, refused := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("refused=%d", refused), func(b *testing.B) {
			for range b.N {
				flows, store := newFakeFlows(), interfacestore.NewInterfaceStore()
				flows.fail = refuseBad
				c := New(nil, flows, &fakeDatapath{}, store, b.TempDir(), problem.NewRecorder())
				c.unsynced.Clear()
				store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
				applied, err := newGroup([]v1beta2.GroupMember{memberOf("a1")})
				require.NoError(b, err)
				c.update(func(s *state) {
					s.setAppliedToGroup("a", applied)
					for i := range policies {
						np := networkPolicy(fmt.Sprint("np", i), "a")
						for j := range rules {
							np.Rules = append(np.Rules, in(block(fmt.Sprintf("10.%d.%d.0/24", i%256, i/256)), service(v1beta2.ProtocolTCP, 1000+j)))
						}
						if refused > 0 && i%(policies/refused) == 0 {
							np.Rules = append(np.Rules, bad(in))
						}
						s.setPolicy(np)
					}
				})
				report := func(name string, do func() error) {
					before := cost.ProcessorTime(b)
					require.NoError(b, do())
					b.ReportMetric(float64((cost.ProcessorTime(b) - before).Milliseconds()), name+"-cpu-ms")
				}
				report("start", c.realize)
				b.ReportMetric(float64(flows.bundles), "bundles")
				report("pod", func() error { return c.PodArrives(iface("b1", "b1", 2, "10.0.0.2")) })
				require.Len(b, c.refusals, refused)
			}
		})
	}
}
