// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/features"
)

// defaultCollectorPort is IPFIX's (RFC 7011, section 10.3.1).
const defaultCollectorPort = 4739

// FlowCollector is the destination of flow records: an address, or a port of a Service.
type FlowCollector struct {
	Host               string
	Namespace, Service string
	Port               uint16
	// Protocol is tls, tcp or udp.
	Protocol string
}

// FlowExporterSettings are the values of flowExporter as the agent uses them.
type FlowExporterSettings struct {
	Collector          FlowCollector
	Poll, Active, Idle time.Duration
	// Protocols are the IP protocols to export; none means all.
	Protocols []uint8
}

// protocolNumbers are the values of flowExporter.protocolFilter.
var protocolNumbers = map[string]uint8{"tcp": 6, "udp": 17, "sctp": 132}

// Exporter returns the values of flowExporter; an error says which one is wrong.
func (c *FlowExporterConfig) Exporter() (s FlowExporterSettings, err error) {
	if s.Collector, err = parseCollector(c.FlowCollectorAddr); err != nil {
		return s, err
	}
	for _, d := range []struct {
		name, text string
		value      *time.Duration
	}{
		{"flowPollInterval", c.FlowPollInterval, &s.Poll},
		{"activeFlowExportTimeout", c.ActiveFlowExportTimeout, &s.Active},
		{"idleFlowExportTimeout", c.IdleFlowExportTimeout, &s.Idle},
	} {
		if *d.value, err = time.ParseDuration(d.text); err != nil {
			return s, fmt.Errorf("flowExporter.%s: %q is not a duration such as 5s", d.name, d.text)
		}
		if *d.value < time.Second {
			return s, fmt.Errorf("flowExporter.%s: %s is too short; allowed: 1s and more", d.name, d.text)
		}
	}
	for _, name := range c.ProtocolFilter {
		number, known := protocolNumbers[strings.ToLower(name)]
		if !known {
			return s, fmt.Errorf("flowExporter.protocolFilter: %q is not a valid protocol; allowed: tcp, udp, sctp", name)
		}
		s.Protocols = append(s.Protocols, number)
	}
	return s, nil
}

// parseCollector reads HOST[:[PORT]][:PROTOCOL].
func parseCollector(text string) (c FlowCollector, err error) {
	fail := func(why string) (FlowCollector, error) {
		return FlowCollector{}, fmt.Errorf("flowExporter.flowCollectorAddr: %q %s; want HOST:PORT:PROTOCOL or NAMESPACE/SERVICE:PORT:PROTOCOL", text, why)
	}
	var host, rest string
	if strings.HasPrefix(text, "[") {
		end := strings.Index(text, "]")
		if end < 0 {
			return fail("has no closing bracket")
		}
		host, rest = text[1:end], text[end+1:]
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is6() || rest != "" && rest[0] != ':' {
			return fail("has no IPv6 address in brackets")
		}
		rest = strings.TrimPrefix(rest, ":")
	} else {
		host, rest, _ = strings.Cut(text, ":")
	}
	port, protocol, _ := strings.Cut(rest, ":")
	c = FlowCollector{Host: host, Port: defaultCollectorPort, Protocol: "tls"}
	if protocol != "" {
		c.Protocol = strings.ToLower(protocol)
	}
	if !slices.Contains([]string{"tls", "tcp", "udp"}, c.Protocol) {
		return fail("has another protocol than tls, tcp or udp")
	}
	if port != "" {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return fail("has a port that is not a number from 1 to 65535")
		}
		c.Port = uint16(number)
	}
	if namespace, service, is := strings.Cut(host, "/"); is {
		c.Host, c.Namespace, c.Service = "", namespace, service
		if namespace == "" || service == "" || strings.Contains(service, "/") {
			return fail("has no name of a Service")
		}
	} else if host == "" {
		return fail("has no host")
	}
	return c, nil
}

// ExportsFlows reports whether flow records are exported.
func (c *AgentConfig) ExportsFlows(gates featuregate.FeatureGate) bool {
	return c.FlowExporter.Enable && gates.Enabled(features.FlowExporter)
}

func validateFlowExporter(c *AgentConfig, gates featuregate.FeatureGate) []error {
	if !c.ExportsFlows(gates) {
		return nil
	}
	if _, err := c.FlowExporter.Exporter(); err != nil {
		return []error{err}
	}
	return nil
}
