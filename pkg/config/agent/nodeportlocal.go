// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/features"
)

// LeadsPorts reports whether ports of the Node lead to Pods.
func (c *AgentConfig) LeadsPorts(gates featuregate.FeatureGate) bool {
	return c.NodePortLocal.Enable && gates.Enabled(features.NodePortLocal)
}

// Ports returns the first and the last port of the range.
func (n NodePortLocalConfig) Ports() (first, last uint16, err error) {
	low, high, _ := strings.Cut(n.PortRange, "-")
	from, errFrom := strconv.ParseUint(low, 10, 16)
	to, errTo := strconv.ParseUint(high, 10, 16)
	if errFrom != nil || errTo != nil || from < 1 || from > to {
		return 0, 0, fmt.Errorf("nodePortLocal.portRange: %q is not a range of ports; allowed: first-last, from 1 to 65535, for example 61000-62000", n.PortRange)
	}
	return uint16(from), uint16(to), nil
}

// OwnPorts returns the ports of the Node that settings take, whether or not a process binds them.
func (c *AgentConfig) OwnPorts(gates featuregate.FeatureGate) (ports []uint16) {
	for _, l := range listeners(c, gates) {
		ports = append(ports, uint16(l.port))
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

func validateNodePortLocal(c *AgentConfig, gates featuregate.FeatureGate) []error {
	if !c.LeadsPorts(gates) {
		return nil
	}
	if _, _, err := c.NodePortLocal.Ports(); err != nil {
		return []error{err}
	}
	return nil
}
