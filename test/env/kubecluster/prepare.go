// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubecluster

import (
	"context"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/umlkernel"
)

// Prepare builds what Start needs, the Nodes' disk excepted, and what is not in the cache yet: the programs of Kubernetes and the kernel.
func Prepare(ctx context.Context, p *progress.Printer) error {
	repository, err := controlplane.Repository()
	if err != nil {
		return err
	}
	kernel, err := umlkernel.Build(ctx, repository, p)
	if err != nil {
		return err
	}
	if err := controlplane.BuildAll(ctx, p, controlplane.ClusterPrograms...); err != nil {
		return err
	}
	if err := controlplane.BuildFull(ctx, p); err != nil {
		return err
	}
	if _, err := buildPrograms(ctx, p); err != nil {
		return err
	}
	version, err := controlplane.KubernetesVersion()
	p.Printf("ready: Linux %s for the Nodes, Kubernetes %s", kernel.Version, version)
	return err
}

// programs are paths of programs of Kubernetes.
type programs struct{ kubelet, kubectl string }

func buildPrograms(ctx context.Context, p *progress.Printer) (built programs, err error) {
	if built.kubelet, err = controlplane.BuildKubernetes(ctx, p, "kubelet"); err != nil {
		return built, err
	}
	built.kubectl, err = controlplane.BuildKubernetes(ctx, p, "kubectl")
	return built, err
}
