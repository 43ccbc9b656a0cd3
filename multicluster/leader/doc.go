// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leader is the controller of the leader of a ClusterSet: in its Namespace, the Common Area, it follows the announces of members, and makes
// one ResourceImport of what several members export under one name. Objects, names, conditions and times are Antrea's.
//
// The core has no I/O, and decides about
//   - ResourceImports: converge.go, of policies: policies.go;
//   - conditions and finalizers of ResourceExports: exports.go; valid.go checks the exports;
//   - members that come, go or are not heard of: announce.go;
//   - the status of the ClusterSet: status.go.
//
// core.go joins these decisions and contains the state that lasts longer than one of them. controller.go reads the objects and writes the changes.
//
// Differences from Antrea: the result does not depend on the order of events. Of exports with different ports those win that are imported already,
// otherwise the oldest; endpoints of the others are not imported. Exports of policies get no labels and no finalizer, go with no member, and stay
// imported as they were while they are refused. Members of which nothing is heard since the start of the controller have 30 s.
package leader
