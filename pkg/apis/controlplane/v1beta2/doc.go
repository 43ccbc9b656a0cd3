// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta2 is the served version of controlplane.antrea.io, as JSON (there is no protobuf encoding). Kinds and field
// names are Antrea's.
//
// Reading the resources: list, get and watch work as everywhere in Kubernetes, with these differences. With the field
// selector nodeName=<Node> a client sees only the objects that concern that Node, and of an AppliedToGroup only its
// members there. A watch begins with all these objects as ADDED, followed by one BOOKMARK; resource versions cannot be used
// to resume. After that, MODIFIED of a NetworkPolicy has the whole policy; MODIFIED of an AddressGroup or AppliedToGroup has
// an AddressGroupPatch or AppliedToGroupPatch. An object that begins to concern the Node is ADDED, one that ceases to is
// DELETED, with its metadata only. There is no order between the events of different resources; a client that allows bookmarks
// learns by resource versions and more BOOKMARKs when it has all of an event that changes policies, or several groups, of its Node. Resource
// versions of an antrea-controller that starts later are higher.
//
// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=github.com/antrea-oncache/antrea/pkg/apis/controlplane
package v1beta2
