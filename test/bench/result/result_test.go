// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
)

func TestFileKeepsEverything(t *testing.T) {
	r := &Run{Schema: Schema, Bed: "native", Rounds: 3, Limits: []string{"a, [b] and {c}"}}
	tcp := Result{Workload: "tcp_rr", Network: "vxlan", Flows: 1, Bytes: 14}
	rate := Metric{Name: "rate", Unit: "1/s"}
	tcp.Add(rate, Bare, 0, 12345.678912)
	tcp.Add(rate, Bare, 2, 0.000123456789) // round 1 has failed
	tcp.Add(Metric{Name: "p99", Unit: "us", Less: true}, On, 0, 1)
	r.Results = append(r.Results, tcp)

	path := filepath.Join(t.TempDir(), "sub", "native.json")
	require.NoError(t, Save(path, r))
	got, err := Load(path)
	require.NoError(t, err)
	r.Results[0].Metrics[0].Samples[Bare] = Samples{12345.7, math.NaN(), 0.000123457} // six digits
	require.Empty(t, cmp.Diff(r, got, cmpopts.EquateNaNs()))
	require.Equal(t, []float64{12345.7, 0.000123457}, got.Results[0].Metric("rate").Samples[Bare].Valid())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "[12345.7, null, 0.000123457]")

	runs, err := LoadDir(filepath.Dir(path), "native", "ovs")
	require.NoError(t, err)
	require.Len(t, runs, 1)
}

func TestOtherSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "native.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema": 99}`), 0o644))
	_, err := Load(path)
	require.ErrorContains(t, err, "schema 99")
}

func TestKey(t *testing.T) {
	for want, r := range map[string]Result{
		"nginx vxlan":                               {Workload: "nginx", Network: "vxlan"},
		"tcp_rr vxlan flows=4 bytes=14":             {Workload: "tcp_rr", Network: "vxlan", Flows: 4, Bytes: 14},
		"tcp_rr vxlan flows=1 bytes=14 (cold maps)": {Workload: "tcp_rr", Network: "vxlan", Flows: 1, Bytes: 14, Condition: "cold maps"},
	} {
		require.Equal(t, want, r.Key())
	}
}

func TestParseCPU(t *testing.T) {
	const first = "processor\t: 0\nvendor_id\t: GenuineSome\ncpu family\t: 6\nmodel\t\t: 167\nmodel name\t: Some CPU\nstepping\t: 8\nflags\t\t: fpu hypervisor lahf_lm\n\nprocessor\t: 1\nmodel name\t: Other\n"
	model, processor, hypervisor := parseCPU([]byte(first))
	require.Equal(t, "Some CPU", model)
	require.Equal(t, "GenuineSome 6 167 8", processor)
	require.Equal(t, "yes", hypervisor)
}
