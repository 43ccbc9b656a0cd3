// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package multicluster connects this Node to other clusters: it watches the Gateway of its cluster and the ClusterInfoImports of others, which the
// controllers of folder multicluster write, and keeps the OpenFlow flows to them.
//
// decide.go computes from all objects, without I/O, which way leads to which cluster, decide_pods.go to its Pods. controller.go brings that into force, connections.go ends connections
// that conntrack would translate otherwise.
//
// With encryption, decide_secret.go finds the keys and addresses of WireGuard, encrypt.go lets the device encrypt before flows lead to a cluster, and
// publishes this cluster's key. No flow leads to a cluster whose packets would not be encrypted.
//
// Other clusters are not trusted with the addresses of this one: a cluster whose networks or gateway would take something over that this cluster
// has is refused and reported, and the others are connected. Of two clusters that want the same, the older import counts.
package multicluster
