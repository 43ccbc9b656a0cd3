// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leader is the controller of the leader of a ClusterSet: in its Namespace, the Common Area, it follows the announces of members, and makes
// one ResourceImport of what several members export under one name. Objects, names, conditions and times are Antrea's.
//
// The core decides without I/O: converge.go on ResourceImports, exports.go on the conditions and finalizers of ResourceExports (valid.go says which of
// these can be read), announce.go on members and what they leave behind, status.go on the ClusterSet. core.go is its whole result, and the little that it remembers.
// controller.go collects what is shown and writes.
//
// Differences from Antrea: the result does not depend on the order of events. Of exports with different ports those win that are imported already,
// otherwise the oldest; endpoints of the others are not imported. Members of which nothing is heard since the start of the controller have 30 s.
package leader
