// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	conflistPath      = "/etc/cni/net.d/10-antrea.conflist"
	cniBinDir         = "/opt/cni/bin"
	agentConfigPath   = "/etc/antrea/antrea-agent.conf"
	agentKubeconfig   = "/etc/antrea/kubeconfig"
	agentPodNamespace = "kube-system"
)

// Node is a Kubernetes Node; as a Space it is the Node's host.
type Node struct {
	*Space
	// Index is 1 for node-1.
	Index int
	// IPv4 and IPv6 are the addresses of eth0. IPs are the addresses in the Node object, and IP is the first of these.
	IP, IPv4, IPv6 netip.Addr
	IPs            []netip.Addr
	// PodCIDRs are the Node's Pod networks, IPv4 first; PodCIDR is the first of them.
	PodCIDR  netip.Prefix
	PodCIDRs []netip.Prefix
	// LogDir is the directory that the Node sees as /var/log.
	LogDir string

	cluster         *Cluster
	ovsdb, vswitchd *Process
	agent           *Process

	mu   sync.Mutex
	pods map[*Pod]struct{}
}

// newNode makes a Node without programs.
func newNode(c *Cluster, index int, env []string, kubeconfig []byte) (_ *Node, err error) {
	name := fmt.Sprintf("node-%d", index)
	n := &Node{
		Index:   index,
		IPv4:    netip.AddrFrom4([4]byte{192, 168, 77, byte(10 + index)}),
		IPv6:    netip.MustParseAddr(fmt.Sprintf("fd00:77::%d", 10+index)),
		LogDir:  filepath.Join(c.o.LogDir, name),
		cluster: c,
		pods:    map[*Pod]struct{}{},
	}
	n.IPs = c.o.NodeFamilies.addresses(n.IPv4, n.IPv6)
	pods4 := netip.AddrFrom4([4]byte{10, 10, byte(index), 0})
	for _, pods := range c.o.PodFamilies.addresses(pods4, netip.MustParseAddr(fmt.Sprintf("fd00:10:10:%d::", index))) {
		n.PodCIDRs = append(n.PodCIDRs, netip.PrefixFrom(pods, map[bool]int{true: 24, false: 64}[pods.Is4()]))
	}
	n.IP, n.PodCIDR = n.IPs[0], n.PodCIDRs[0]
	if err := os.MkdirAll(n.LogDir, 0o755); err != nil {
		return nil, err
	}
	thread, err := newNamespaces(unix.CLONE_NEWNET|unix.CLONE_NEWNS|unix.CLONE_NEWUTS, func() error {
		return errors.Join(nodeMounts(n.LogDir), unix.Sethostname([]byte(name)))
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	n.Space = newSpace(name, thread, nil, append(slices.Clone(env),
		// As in the agent's container. antctl tells by POD_NAME whether it talks to an agent or the controller.
		"NODE_NAME="+name, "POD_NAME=antrea-agent-"+name, "POD_NAMESPACE="+agentPodNamespace, "KUBECONFIG="+agentKubeconfig))
	if err := n.configure(kubeconfig); err != nil {
		thread.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

func (n *Node) configure(kubeconfig []byte) error {
	ns, err := n.netnsFile()
	if err != nil {
		return err
	}
	defer ns.Close()
	if err := plugNode(n.cluster.Fabric, n.Name, int(ns.Fd())); err != nil {
		return err
	}
	config, err := n.agentConfig()
	if err != nil {
		return err
	}
	return n.Do(func() error {
		if err := configureHost([]netip.Addr{n.IPv4, n.IPv6}, FabricGateway, FabricGateway6); err != nil {
			return err
		}
		// Kubernetes requires this of every Node.
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
			return err
		}
		if err := os.MkdirAll(cniBinDir, 0o755); err != nil {
			return err
		}
		for link, program := range map[string]string{"antrea": "antrea-cni", "host-local": "host-local"} {
			path := filepath.Join(cniBinDir, link)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			if err := os.Symlink(filepath.Join(n.cluster.o.BinDir, program), path); err != nil {
				return err
			}
		}
		return errors.Join(
			writeFile(agentKubeconfig, kubeconfig, 0o600),
			writeFile(agentConfigPath, config, 0o644),
			writeFile(conflistPath, []byte(conflist), 0o644),
		)
	})
}

// close ends everything on the Node and forgets its objects.
func (n *Node) close(ctx context.Context) error {
	var errs []error
	for _, p := range n.Pods() {
		p.stopAll()
		errs = append(errs, p.netns.Close(), p.deleteObject(ctx))
	}
	if n.agent != nil {
		errs = append(errs, n.agent.Stop(agentGrace))
	}
	errs = append(errs, n.StopOVS(), n.unregister(ctx))
	n.stopAll()
	n.thread.Close()
	return errors.Join(errs...)
}

// Pods returns the Pods that run on the Node, in any order.
func (n *Node) Pods() []*Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.pods))
}
