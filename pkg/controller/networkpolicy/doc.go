// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy computes what every Node must know of the cluster's NetworkPolicies, and distributes it.
//
// The core (core.go) is a function of the events that it was given: Namespaces, Pods (pod.go) and NetworkPolicies in, changes of
// internal policies (translate.go, policy.go) and groups (addressgroup.go, appliedtogroup.go) out, with the Nodes that they
// affect. It does no I/O and needs no clock. It is incremental:
//
//   - Pods of one Namespace with equal labels form a class (class.go). Selectors are matched against classes, and a class is
//     matched once, when its first Pod appears; any further Pod costs one look-up per group that its class is in.
//   - Selectors are shared by their normalized text (selector.go, group.go); those over Namespaces are matched against a Namespace once,
//     so a new class is compared only with the selectors that can see its Namespace (namespace.go).
//   - Spans are counted per Node (span.go): an AppliedToGroup's by member, an AddressGroup's by policy that uses it. A
//     policy's span is its AppliedToGroup's.
//
// One event is one transaction (transaction.go), which collects the changes of each object. The Store (store.go, object.go) turns them
// into events of watches (watcher.go): a Node that enters a span gets the object, one that stays gets the change, and one that leaves gets
// the deletion. The Controller (controller.go) feeds it from informers. handover.go ends the watches when another controller
// serves; query.go and metrics.go say what there is.
//
// An object that was sent is never modified afterward: it is replaced.
package networkpolicy
