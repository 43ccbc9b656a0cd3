// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

// Ports are the Node's own listeners that its firewall must let through. 0 omits one.
type Ports struct {
	// AgentAPI is the agent's API server (TCP).
	AgentAPI uint16
	// Cluster is memberlist (TCP and UDP).
	Cluster uint16
	// ControllerAPI is the controller's API server (TCP), which may run on this Node or another.
	ControllerAPI uint16
	// ProxyHealth is the Service proxy's health check (TCP).
	ProxyHealth uint16
}

type service struct {
	name     string
	protocol string
	port     uint16
	// dialled is set when this Node also connects to the same port of other Nodes.
	dialled bool
}

// services lists the ports in use in a fixed order.
func (p Ports) services() []service {
	all := []service{
		{"agent API", "tcp", p.AgentAPI, false},
		{"memberlist over TCP", "tcp", p.Cluster, true},
		{"memberlist over UDP", "udp", p.Cluster, true},
		{"controller API", "tcp", p.ControllerAPI, true},
		{"proxy health check", "tcp", p.ProxyHealth, false},
	}
	used := all[:0]
	for _, s := range all {
		if s.port != 0 {
			used = append(used, s)
		}
	}
	return used
}
