// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeportlocal leads ports of this Node to its Pods that Services with the annotation of NodePortLocal select, and tells load balancers
// outside the cluster which ones, by an annotation of the Pods. Annotations, choice of ports and rules are Antrea's.
//
// targets.go says which ports of a Pod Services ask for, decide.go makes the plan from the known facts, without I/O but for sockets. ports.go numbers ports of
// the Node; socket.go holds each, so that no process of the host can take it. realize.go brings plans into force: a rule is there before the
// annotation that tells of it, and no rule leads to an address that another Pod has got. connections.go ends the connections of rules that are gone.
// annotation.go is the format of the annotation of Pods, and write.go writes it. report.go reports problems, metrics.go counts; controller.go combines all.
//
// A Pod has its addresses from its interface as well as from its status: only where both agree, a port leads there. Pods in the network of the
// host, and hostPorts, need no rule: their annotation says the port that they have.
//
// Ports survive the restart of the agent: first by the rules that are in force, which only root can write, then by annotations.
package nodeportlocal
