// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/features"
)

func TestFlowCollector(t *testing.T) {
	for text, want := range map[string]FlowCollector{
		"flow-aggregator/flow-aggregator:4739:tls": {Namespace: "flow-aggregator", Service: "flow-aggregator", Port: 4739, Protocol: "tls"},
		"ns/svc":                {Namespace: "ns", Service: "svc", Port: 4739, Protocol: "tls"},
		"10.0.0.1":              {Host: "10.0.0.1", Port: 4739, Protocol: "tls"},
		"10.0.0.1:99":           {Host: "10.0.0.1", Port: 99, Protocol: "tls"},
		"collector::UDP":        {Host: "collector", Port: 4739, Protocol: "udp"},
		"[fd00::1]:4740:tcp":    {Host: "fd00::1", Port: 4740, Protocol: "tcp"},
		"[fd00::1]":             {Host: "fd00::1", Port: 4739, Protocol: "tls"},
		"[fd00::1]::udp":        {Host: "fd00::1", Port: 4739, Protocol: "udp"},
		"collector.local:1:udp": {Host: "collector.local", Port: 1, Protocol: "udp"},
	} {
		got, err := parseCollector(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"": "no host", ":4739": "no host", "a:b:c": "another protocol", "a:b": "port", "a:0": "port", "a:65536": "port", "a:1:http": "another protocol",
		"/svc": "name of a Service", "ns/": "name of a Service", "a/b/c": "name of a Service", "[fd00::1": "bracket", "[10.0.0.1]:1": "IPv6", "[::1]x": "IPv6",
		"fd00::1": "another protocol", "a:1:tcp:2": "another protocol",
	} {
		_, err := parseCollector(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestValidateFlowExporter(t *testing.T) {
	with := func(gate bool, text string) error {
		c, err := Parse([]byte("flowExporter: {enable: true, " + text + "}"))
		require.NoError(t, err)
		gates, err := features.New(map[string]bool{"FlowExporter": gate})
		require.NoError(t, err)
		return c.Validate(gates)
	}
	require.NoError(t, with(true, ""))
	require.NoError(t, with(false, "flowPollInterval: soon"), "the settings of a feature that is off do not matter")
	require.ErrorContains(t, with(true, "flowPollInterval: soon"), `flowExporter.flowPollInterval: "soon" is not a duration`)
	require.ErrorContains(t, with(true, "activeFlowExportTimeout: 100ms"), "flowExporter.activeFlowExportTimeout: 100ms is too short")
	require.ErrorContains(t, with(true, "protocolFilter: [icmp]"), "flowExporter.protocolFilter: \"icmp\"")
	require.ErrorContains(t, with(true, "flowCollectorAddr: 'a:b'"), "flowExporter.flowCollectorAddr")
	c, err := Parse(nil)
	require.NoError(t, err)
	c.FlowExporter.ProtocolFilter = []string{"UDP"}
	s, err := c.FlowExporter.Exporter()
	require.NoError(t, err)
	require.Equal(t, FlowExporterSettings{
		Collector: FlowCollector{Namespace: "flow-aggregator", Service: "flow-aggregator", Port: 4739, Protocol: "tls"},
		Poll:      5 * time.Second, Active: 5 * time.Second, Idle: 15 * time.Second, Protocols: []uint8{17},
	}, s)
}
