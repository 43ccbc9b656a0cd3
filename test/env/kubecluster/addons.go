// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubecluster

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/netip"
	"os/exec"
	"text/template"
	"time"

	"github.com/antrea-oncache/antrea/test/env/kubecluster/images"
	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
)

//go:embed addons/*.yaml
var addons embed.FS

const kubeProxyManifest = "addons/kube-proxy.yaml"

// installAddons installs kube-proxy, unless it is not wanted, and CoreDNS, which start when the Nodes are ready.
func (c *Cluster) installAddons(ctx context.Context) error {
	coreDNS, err := controlplane.ProgramVersion("coredns")
	if err != nil {
		return err
	}
	values := map[string]string{
		"PodCIDR": c.networks.Pods.String(), "DNSAddress": c.networks.DNS.String(),
		"API":            c.API(),
		"KubeProxyImage": images.KubeProxy + ":" + c.version, "CoreDNSImage": images.CoreDNS + ":" + coreDNS,
	}
	manifests, err := fs.Glob(addons, "addons/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range manifests {
		if name == kubeProxyManifest && c.o.WithoutKubeProxy {
			continue
		}
		t, err := template.ParseFS(addons, name)
		if err != nil {
			return err
		}
		var manifest bytes.Buffer
		if err := t.Execute(&manifest, values); err != nil {
			return err
		}
		if err := c.Kubectl(ctx, &manifest, "apply", "-f", "-"); err != nil {
			return fmt.Errorf("installing %s: %w", name, err)
		}
	}
	return nil
}

// KubectlPath is the path of the program.
func (c *Cluster) KubectlPath() string { return c.programs.kubectl }

// Kubectl runs kubectl with input, which may be nil. An error has its output.
func (c *Cluster) Kubectl(ctx context.Context, input *bytes.Buffer, args ...string) error {
	_, err := c.kubectl(ctx, input, args...)
	return err
}

// kubectl is Kubectl with the output.
func (c *Cluster) kubectl(ctx context.Context, input *bytes.Buffer, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.programs.kubectl, append([]string{"--kubeconfig=" + c.Kubeconfig}, args...)...)
	if input != nil {
		cmd.Stdin = input
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// waitRegistered waits until all kubelets have made their Nodes and these have Pod networks, and gives the first one the label of a
// control plane.
func (c *Cluster) waitRegistered(ctx context.Context) error {
	for _, n := range c.Nodes {
		if err := c.waitNode(ctx, n); err != nil {
			return err
		}
	}
	// Users and tests find the Pod and Service networks in the output of `kubectl cluster-info dump`, which has them where a control
	// plane runs as Pods. Antrea's tests take all up to the closing quote for the network, so each has an annotation of its own.
	first := c.Nodes[0].Name
	if err := c.Kubectl(ctx, nil, "label", "node", first, "node-role.kubernetes.io/control-plane="); err != nil {
		return err
	}
	return c.Kubectl(ctx, nil, append([]string{"annotate", "node", first}, c.networks.annotations()...)...)
}

func (n Networks) annotations() []string {
	return []string{
		fmt.Sprintf("cluster.local/pods=--cluster-cidr=%s", n.Pods), fmt.Sprintf("cluster.local/services=--service-cluster-ip-range=%s", n.Services),
	}
}

// waitNode waits for one Node, and routes its Pod network: the API reaches Pods when a user asks it to (kubectl get --raw, webhooks).
func (c *Cluster) waitNode(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	if err := c.Kubectl(ctx, nil, "wait", "--for=create", "node/"+n.Name, fmt.Sprintf("--timeout=%s", registerTimeout)); err != nil {
		return fmt.Errorf("Node %s does not register; see %s: %w", n.Name, n.logDir, err)
	}
	const field = "jsonpath={.spec.podCIDR}"
	if err := c.Kubectl(ctx, nil, "wait", "--for="+field, "node/"+n.Name, fmt.Sprintf("--timeout=%s", registerTimeout)); err != nil {
		return fmt.Errorf("no Pod network for Node %s; see %s: %w", n.Name, c.o.LogDir, err)
	}
	out, err := c.kubectl(ctx, nil, "get", "node", n.Name, "--output="+field)
	if err != nil {
		return err
	}
	network, err := netip.ParsePrefix(out)
	if err != nil {
		return fmt.Errorf("parsing the Pod network of Node %s: %w", n.Name, err)
	}
	return c.segment.Route(network, n.address.Addr())
}

const registerTimeout = 2 * time.Minute
