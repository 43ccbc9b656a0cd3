// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is the gRPC protocol between the CNI plugin antrea-cni and the agent's CNI server. It is spoken over
// the unix socket /var/run/antrea/cni.sock, without TLS. Regenerate the Go files with hack/update-codegen-proto.sh.
package v1beta1
