// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import "github.com/antrea-oncache/antrea/pkg/agent/policy"

// Selector stands for names in a rule: an exact name such as "db.example.com", or a pattern in which '*' stands for any
// sequence of characters, such as "*.example.com". Upper case and a dot at the end make no difference.
type Selector = string

// Use contains the names and Pods of the rules of one policy.
type Use struct {
	// Selectors are the names and patterns of all its egress rules.
	Selectors []Selector
	// Pods are the local Pods to which a rule with a Selector applies.
	Pods []policy.Pod
}

// Names knows the addresses behind selectors. Its methods may be called from several goroutines. None of them calls a Realizer before
// it returns, and Addresses may be called with the locks held that RealizeNames needs.
type Names interface {
	// Addresses returns the addresses that the selector stands for at present. It does not wait. All sets of one selector are derived from
	// one another. Names of a new selector become known from then on; the selector is forgotten if no policy declares it within a minute.
	Addresses(Selector) policy.AddressSet
	// Declare replaces the uses of the policies by name; the zero Use stands for a policy that is gone. It must be called before the rules
	// are installed: when it returns nil, answers of DNS to all these Pods are held until the rules contain the addresses. After an error
	// the uses are declared, but the rules must not be installed before a repeated call has succeeded. Pods that are needed no more
	// leave later.
	Declare(uses map[string]Use) error
}

// Realizer installs rules; it is the controller of policies.
type Realizer interface {
	// RealizeNames returns at once. The selectors are as Normalize returns them. It makes all rules with one of these selectors contain what Addresses returns from now on, and
	// then calls done once, with the reasons for the selectors of which a rule was refused or could not be installed. Selectors without
	// rules are realized. It may be called again before done.
	RealizeNames(selectors []Selector, done func(failed map[Selector]error))
}
