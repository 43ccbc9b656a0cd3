// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
)

// Mode is a way in which packets travel between Pods of two Nodes.
type Mode string

// The modes. WireGuard is encryption in mode Encap.
const (
	Encap     Mode = "encap"
	NoEncap   Mode = "noEncap"
	Hybrid    Mode = "hybrid"
	WireGuard Mode = "wireGuard"
)

// Modes are all of them.
var Modes = []Mode{Encap, NoEncap, Hybrid, WireGuard}

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	if m := Mode(name); slices.Contains(Modes, m) {
		return m, nil
	}
	return "", fmt.Errorf("there is no traffic mode %q, it must be one of %v", name, Modes)
}

// Configure sets the mode in the contents of an antrea-agent.conf.
func (m Mode) Configure(conf map[string]any) {
	encap, encryption := m, "none"
	if m == WireGuard {
		encap, encryption = Encap, string(m)
	}
	conf["trafficEncapMode"], conf["trafficEncryptionMode"] = string(encap), encryption
}

// Direct reports whether packets to a Node of the same subnet leave without a tunnel and without encryption.
func (m Mode) Direct() bool { return m == NoEncap || m == Hybrid }
