// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubecluster

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/antrea-oncache/antrea/test/env/kubecluster/images"
)

// containerdConfig: sandboxes use the pause image of the disk. A Node without systemd manages control groups itself.
const containerdConfig = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "%s"

[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["/opt/cni/bin"]
  conf_dir = "/etc/cni/net.d"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = false
`

// kubeletConfig: no Pod is evicted for what it does not use itself, and no image removed, because the disk has all
// images and they cannot be pulled.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %s}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
clusterDNS: [%s]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
evictionHard: {memory.available: "0%%"}
imageGCHighThresholdPercent: 100
failSwapOn: false
nodeStatusUpdateFrequency: 5s
rotateCertificates: false
`

const (
	containerdFile = "containerd.toml"
	kubeletFile    = "kubelet.yaml"
	kubeconfigFile = "kubelet.kubeconfig"
	caFile         = "ca.crt"
)

// writeConfiguration writes the files into the directory that host and Node share.
func (n *Node) writeConfiguration() error {
	for name, data := range map[string]string{
		containerdFile: fmt.Sprintf(containerdConfig, images.Pause),
		kubeletFile:    fmt.Sprintf(kubeletConfig, n.file(caFile), n.cluster.networks.DNS),
		caFile:         string(n.cluster.controlPlane.CA()),
	} {
		if err := os.WriteFile(n.file(name), []byte(data), 0o600); err != nil {
			return err
		}
	}
	return n.cluster.controlPlane.WriteUserKubeconfig(n.file(kubeconfigFile), n.cluster.networks.Gateway.String(), "system:node:"+n.Name, "system:nodes")
}

func (n *Node) file(name string) string { return filepath.Join(n.stateDir, name) }

func (n *Node) kubeletArgs(program string) []string {
	return []string{
		program, "--config=" + n.file(kubeletFile), "--kubeconfig=" + n.file(kubeconfigFile),
		"--hostname-override=" + n.Name, "--node-ip=" + n.address.Addr().String(), "--housekeeping-interval=30s",
	}
}
