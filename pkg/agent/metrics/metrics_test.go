// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

type policies struct{}

func (policies) Counts() (policies, addressGroups, appliedToGroups int) { return 3, 4, 5 }
func (policies) RuleCounts() (ingress, egress int)                      { return 6, 7 }

type interfaces struct{}

func (interfaces) GetContainerInterfaceNum() int { return 8 }

type bridge struct{ connection, tables, meters error }

func (b bridge) ConnectionError() error { return b.connection }

func (b bridge) GetFlowTableStatus(context.Context) ([]openflow.TableStatus, error) {
	return []openflow.TableStatus{{ID: 0, Name: "PipelineRootClassifier", FlowCount: 3}, {ID: 29, Name: "Output", FlowCount: 9}}, b.tables
}

func (b bridge) DroppedByMeters(context.Context) (map[openflow.Purpose]uint64, error) {
	return map[openflow.Purpose]uint64{"PacketInMeterTraceflow": 5}, b.meters
}

// connections has n connections, and takes a second for each.
func connections(n int, err error) *Conntrack {
	return &Conntrack{List: func(yield func(*conntrack.Connection) bool) error {
		for range n {
			time.Sleep(time.Second)
			yield(&conntrack.Connection{})
		}
		return err
	}}
}

// gather returns the gauges by name and labels.
func gather(t *testing.T, c *Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry() // which compares Describe with Collect
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	gauges := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			gauges[name] = metric.GetGauge().GetValue()
		}
	}
	return gauges
}

func TestCollect(t *testing.T) {
	failed := errors.New("no answer")
	always := map[string]float64{
		"antrea_agent_networkpolicy_count":              3,
		"antrea_agent_ingress_networkpolicy_rule_count": 6, "antrea_agent_egress_networkpolicy_rule_count": 7,
		"antrea_agent_local_pod_count": 8,
	}
	flows := map[string]float64{
		"antrea_agent_ovs_total_flow_count":                                        12,
		"antrea_agent_ovs_flow_count table_id=0 table_name=PipelineRootClassifier": 3,
		"antrea_agent_ovs_flow_count table_id=29 table_name=Output":                9,
	}
	dropped := map[string]float64{"antrea_agent_ovs_meter_packet_dropped_count meter_id=PacketInMeterTraceflow": 5}
	counted := map[string]float64{"antrea_agent_conntrack_antrea_connection_count": 2}
	for _, tc := range []struct {
		name   string
		bridge bridge
		err    error // of conntrack
		want   []map[string]float64
	}{
		{"all", bridge{}, nil, []map[string]float64{always, flows, dropped, counted}},
		{"the switch does not know its meters", bridge{meters: failed}, nil, []map[string]float64{always, flows, counted}},
		{"the switch is not connected", bridge{connection: failed}, nil, []map[string]float64{always, counted}},
		{"the switch does not answer", bridge{tables: failed}, nil, []map[string]float64{always, counted}},
		{"conntrack cannot be read", bridge{}, failed, []map[string]float64{always, flows, dropped}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := gather(t, &Collector{Policies: policies{}, Interfaces: interfaces{}, Switch: tc.bridge, Conntrack: connections(2, tc.err)})
				// These are the machine's.
				delete(got, "antrea_agent_conntrack_total_connection_count")
				delete(got, "antrea_agent_conntrack_max_connection_count")
				want := map[string]float64{}
				for _, part := range tc.want {
					for name, value := range part {
						want[name] = value
					}
				}
				require.Equal(t, want, got)
			})
		})
	}
}

// A scrape per second must not make the agent count connections all the time.
func TestPauseAfterCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connections(2, nil)
		lists, list := 0, c.List
		c.List = func(yield func(*conntrack.Connection) bool) error { lists++; return list(yield) }
		for range 39 {
			n, err := c.connections()
			require.NoError(t, err)
			require.Equal(t, 2, n)
			time.Sleep(time.Second)
		}
		require.Equal(t, 1, lists)
		time.Sleep(2 * time.Second)
		_, err := c.connections()
		require.NoError(t, err)
		require.Equal(t, 2, lists)
	})
}

func TestConntrackSizes(t *testing.T) {
	total, err := readNumber(filepath.Join(sysctls, "nf_conntrack_max"))
	if os.IsNotExist(err) {
		t.Skip("this kernel does not track connections")
	}
	require.NoError(t, err)
	c := &Collector{Policies: policies{}, Interfaces: interfaces{}, Switch: bridge{}, Conntrack: connections(0, nil)}
	got := gather(t, c)
	require.InDelta(t, total, got["antrea_agent_conntrack_max_connection_count"], 0)
	require.Contains(t, got, "antrea_agent_conntrack_total_connection_count")

	bad := filepath.Join(t.TempDir(), "number")
	require.NoError(t, os.WriteFile(bad, []byte("many\n"), 0o600))
	_, err = readNumber(bad)
	require.ErrorContains(t, err, `"many\n" is not a number`)
}
