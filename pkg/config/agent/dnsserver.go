// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// ParseDNSServer returns a DNS server as host:port, with port 53 if none is given.
func ParseDNSServer(server string) (string, error) {
	wrong := func() (string, error) {
		return "", fmt.Errorf("dnsServerOverride: %q is not a DNS server; allowed: host or host:port, such as 10.96.0.10, 10.96.0.10:53, fd00::a or [fd00::a]:53", server)
	}
	if addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(server, "["), "]")); err == nil {
		if strings.HasPrefix(server, "[") != strings.HasSuffix(server, "]") {
			return wrong()
		}
		return net.JoinHostPort(addr.String(), "53"), nil
	}
	host, port := server, "53"
	if strings.Contains(server, ":") {
		var err error
		if host, port, err = net.SplitHostPort(server); err != nil {
			return wrong()
		}
	}
	if n, err := net.LookupPort("udp", port); err != nil || n == 0 || host == "" || strings.ContainsAny(host, " /[]@") {
		return wrong()
	}
	return net.JoinHostPort(host, port), nil
}

// validateNames checks the settings for names in policies.
func validateNames(c *AgentConfig) (errs []error) {
	if c.DNSServerOverride != "" {
		if _, err := ParseDNSServer(c.DNSServerOverride); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
