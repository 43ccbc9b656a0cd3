// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy computes what every Node must know of the cluster's NetworkPolicies, and distributes it.
//
// The core is a function of the events that it was given: Namespaces, Pods, Nodes, Services, policies, tiers and groups in, changes of
// internal policies and groups out, with the Nodes that they affect. It does no I/O and needs no clock. It is incremental:
//
//   - Pods of one Namespace with equal labels form a class. Selectors are matched against classes, and a class is
//     matched once, when its first Pod appears; any further Pod costs one look-up per group that its class is in.
//     Nodes are treated as Pods of a Namespace that no selector of Namespaces matches.
//   - Selections are shared by their normalized text; selectors of Namespaces are matched against a Namespace once,
//     so a new class is compared only with the selections that can see its Namespace. A group consists of selections: of one, or,
//     as a ClusterGroup or Group, of its own and its children's.
//   - Spans are counted per Node: an AppliedToGroup's by member, a policy's by AppliedToGroup, an AddressGroup's by policy that uses it.
//   - The translation of an Antrea policy depends on a tier, on groups, and with relative peers on Namespaces. An
//     index finds the policies that must be translated again.
//
// One event is one transaction, which collects the changes of each object. The Store turns them
// into events of watches: a Node that enters a span gets the object, one that stays gets the change, and one that leaves gets
// the deletion. The Controller feeds it from informers. Its watches end when another controller serves.
//
// An object that was sent is never modified afterward: it is replaced.
package networkpolicy
