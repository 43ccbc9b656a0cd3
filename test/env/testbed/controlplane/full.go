// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// Full says what a whole control plane has besides etcd and kube-apiserver: kube-controller-manager, which also allocates the Nodes' Pod
// networks, and kube-scheduler.
type Full struct {
	// Segment is the network in which the programs run and kubelets reach them.
	Segment Segment
	// PodCIDRs and ServiceCIDRs have one network for each IP version.
	PodCIDRs, ServiceCIDRs []netip.Prefix
}

// Segment is the part of machine.Segment that is needed here.
type Segment interface {
	Thread() *proc.Thread
	Dial(address string) (net.Conn, error)
}

// fullPorts are the ports of API, etcd and etcd's peers in a segment, where all ports are free.
var fullPorts = [...]int{6443, 2379, 2380}

const (
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
)

// controllers are the paths of programs that use the API.
type controllers struct{ manager, scheduler string }

// BuildFull builds the programs of a whole control plane if they are not in the cache yet, as Start does.
func BuildFull(ctx context.Context, progress *progress.Printer) error {
	if err := Build(ctx, progress); err != nil {
		return err
	}
	_, err := buildControllers(ctx, progress)
	return err
}

func buildControllers(ctx context.Context, progress *progress.Printer) (c controllers, err error) {
	if c.manager, err = BuildKubernetes(ctx, progress, controllerManager); err != nil {
		return c, err
	}
	c.scheduler, err = BuildKubernetes(ctx, progress, scheduler)
	return c, err
}

func (f *Full) apiserverArgs(address string, file func(string) string) []string {
	return []string{
		"--bind-address=0.0.0.0", "--advertise-address=" + address,
		"--service-cluster-ip-range=" + prefixes(f.ServiceCIDRs),
		"--kubelet-client-certificate=" + file("apiserver-kubelet-client.crt"), "--kubelet-client-key=" + file("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP", // the Nodes' names are not resolved
		"--enable-aggregator-routing",                  // there is no kube-proxy in front of this control plane
	}
}

func (c *ControlPlane) startControllers(programs controllers) error {
	for _, name := range []string{controllerManager, scheduler} {
		if err := c.WriteUserKubeconfig(filepath.Join(c.dir, name+".kubeconfig"), c.o.Addresses[0], "system:"+name, ""); err != nil {
			return err
		}
	}
	file := func(name string) string { return filepath.Join(c.dir, name) }
	err := c.run(programs.manager, []string{
		"--kubeconfig=" + file(controllerManager+".kubeconfig"), "--use-service-account-credentials", "--leader-elect=false",
		"--service-account-private-key-file=" + file("service-account.key"), "--root-ca-file=" + file("ca.crt"),
		"--cluster-signing-cert-file=" + file("ca.crt"), "--cluster-signing-key-file=" + file("ca.key"),
		"--allocate-node-cidrs", "--cluster-cidr=" + prefixes(c.o.Full.PodCIDRs), "--service-cluster-ip-range=" + prefixes(c.o.Full.ServiceCIDRs),
		"--bind-address=127.0.0.1",
		// A Node that is switched off is noticed soon.
		"--node-monitor-period=2s", "--node-monitor-grace-period=20s",
	})
	if err != nil {
		return err
	}
	return c.run(programs.scheduler, []string{"--kubeconfig=" + file(scheduler+".kubeconfig"), "--leader-elect=false", "--bind-address=127.0.0.1"})
}

// WriteUserKubeconfig writes a kubeconfig of a user, who may be in a group, with a client certificate. The API is at host.
func (c *ControlPlane) WriteUserKubeconfig(path, host, user, group string) error {
	certificate, key, err := c.pki.client(user, group)
	if err != nil {
		return err
	}
	server := fmt.Sprintf("https://%s", net.JoinHostPort(host, fmt.Sprint(c.port)))
	return os.WriteFile(path, kubeconfig(server, c.pki.caPEM, clientCredentials(certificate, key)), 0o600)
}

func prefixes(list []netip.Prefix) string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}
