// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy computes what every Node must know of the cluster's NetworkPolicies, and hands it out.
//
// The core (core.go) is a function of the events that it was given: Namespaces, Pods and NetworkPolicies in, changes of
// internal policies and groups out, with the Nodes that they concern. It does no I/O and needs no clock. It is incremental:
//
//   - Pods of one Namespace with equal labels form a class (class.go). Selectors are matched against classes, and a class is
//     matched once, when its first Pod appears; any further Pod costs one look-up per group that its class is in.
//   - Selectors are shared by their normalised text (group.go); those over Namespaces are matched against a Namespace once,
//     so a new class is compared only with the selectors that can see its Namespace (namespace.go).
//   - Spans are counted per Node (span.go): an AppliedToGroup's by member, an AddressGroup's by policy that uses it. A
//     policy's span is its AppliedToGroup's.
//
// One event is one transaction (transaction.go), which collects what changed on which object. The Store (store.go) turns
// that into watch events: who enters a span gets the object, who stays gets the change, who leaves gets the deletion. The
// Controller (controller.go) feeds it from informers.
//
// What is sent is never modified afterwards: objects are replaced.
package networkpolicy
