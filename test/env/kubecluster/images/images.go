// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images has the names of the container images of a test cluster and of the tests in it. They are the names that kubeadm, Antrea's tests
// and users give them; build/images/cmd/images makes images of these names.
package images

// Images with tags.
const (
	// Pause is the image of sandboxes.
	Pause   = "registry.k8s.io/pause:3.10"
	Agnhost = "registry.k8s.io/e2e-test-images/agnhost:2.40"
	Toolbox = "antrea/toolbox:1.5-1"
	Nginx   = "antrea/nginx:1.21.6-alpine"
)

// Images whose tags are the versions of their programs, which hack/controlplane/go.mod and hack/coredns/go.mod have.
const (
	KubeProxy = "registry.k8s.io/kube-proxy"
	CoreDNS   = "registry.k8s.io/coredns/coredns"
)
