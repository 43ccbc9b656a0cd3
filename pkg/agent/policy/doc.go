// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy defines the rules of network policies by their meaning: which connections a rule matches, and what it does with them. It
// knows neither flows nor Kubernetes. Whoever must know what rules allow asks this package, so that no other code assumes anything
// about it, such as that rules only allow.
//
//	rule.go        Rule: a rule, and which connections it matches
//	effect.go      Effect: order and action of a rule, and whether it isolates
//	service.go     Service: protocols and ports
//	addressset.go  AddressSet: large sets of addresses that change often
//	peers.go       comparison of the peers of two rules
//	evaluate.go    Evaluate: the verdict of rules on a connection
//	closing.go     Closing: the rule in place of unknown ones
//	closed.go      Closed: whether rules allow nothing that other rules deny
package policy
