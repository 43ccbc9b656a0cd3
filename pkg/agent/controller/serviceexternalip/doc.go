// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serviceexternalip lets one Node answer for each address that a Service has from an ExternalIPPool.
//
// decide.go is the decision, without I/O: the same on every agent, also beside agents of Antrea. controller.go brings it into force. No device
// gets an address: the Node announces it and answers ARP requests and neighbor solicitations for it, on the device of its transport address.
// Packets that come for it are AntreaProxy's or kube-proxy's.
//
// The Node is the owner on the ring of the pool's Nodes. With externalTrafficPolicy Local, only Nodes with an Endpoint count.
//
// Differences from Antrea: Services that share an address have one Node, which all of them accept, if there is one. Announcements are repeated,
// also when members come or go. No Node answers for an address that another machine of the cluster is known to have.
package serviceexternalip
