// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cilium runs Cilium, built from its Go module, on two Nodes of the native bed, for comparison. There is a Kubernetes API with the
// Nodes, one Pod on each, and the definitions that Cilium's operator would create; on each Node runs cilium-agent, and cilium-cni attaches
// the Pod. No policy is applied.
//
// build.go builds the programs, api.go is the Kubernetes API, node.go an agent and its Pod, status.go reads the agent's
// status, counters.go the counters of its eBPF programs.
package cilium

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/relay"
)

// startTimeout limits the time until the Pods reach each other; most of it compiles eBPF programs.
const startTimeout = 15 * time.Minute

// stopGrace limits the time for a program to end.
const stopGrace = 10 * time.Second

// NodeOptions describe a Node. Its wire and its address exist already.
type NodeOptions struct {
	// Host has the network namespace of the Node. It gets a mount namespace, for the bpffs and the files of the agent.
	Host *proc.Thread
	// Pod has the network namespace of the Pod.
	Pod *proc.Thread
	// Device is the uplink, Transport its address.
	Device    string
	Transport netip.Addr
	// PodNetwork is the range of the Node's Pods.
	PodNetwork netip.Prefix
	// Group is the control group (version 2) of the Pod's programs. The agent attaches its socket programs to it, which it would
	// otherwise do to all programs of the machine.
	Group string
}

// Options are the options of Start.
type Options struct {
	*Programs
	Nodes [2]NodeOptions
	// Dir is an existing directory, for files of this package alone.
	Dir      string
	Progress *progress.Printer
}

// Pair is Cilium on two Nodes.
type Pair struct {
	Options
	api    *controlplane.ControlPlane
	relays []*relay.Relay
	nodes  [2]*node
}

// Start returns when the Pods reach each other. On error nothing is left.
func Start(ctx context.Context, o Options) (_ *Pair, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %v", startTimeout))
	defer cancel()
	p := &Pair{Options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := p.startAPI(ctx); err != nil {
		return nil, err
	}
	// The agent calls its compiler by this name.
	if err := os.MkdirAll(p.bin(), 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(o.clang, filepath.Join(p.bin(), "clang")); err != nil {
		return nil, err
	}
	o.Progress.Printf("bench: starting Cilium %s", o.Version)
	for i := range p.nodes {
		if p.nodes[i], err = p.startNode(i); err != nil {
			return nil, err
		}
	}
	for _, n := range p.nodes {
		if err := n.addPod(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", n.name, err)
		}
		if err := n.checkStatus(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", n.name, err)
		}
		o.Progress.Printf("bench: Cilium has attached the Pod %v on %s", n.PodIP, n.name)
	}
	if err := p.waitConnected(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Pair) bin() string { return filepath.Join(p.Dir, "bin") }

// waitConnected waits until each agent knows the other agent's Pod.
func (p *Pair) waitConnected(ctx context.Context) error {
	for i, n := range p.nodes {
		peer := p.nodes[1-i].PodIP
		err := n.eventually(ctx, fmt.Sprintf("a packet from the Pod on %s to %v", n.name, peer), func(ctx context.Context) error {
			_, err := cluster.NewSpace("Pod on "+n.name, n.Pod).Exec(ctx, "ping", "-n", "-c", "1", "-W", "1", peer.String())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PodIP is the address that a Pod has got.
func (p *Pair) PodIP(node int) netip.Addr { return p.nodes[node].PodIP }

// Close ends the programs. Their traces in the kernel go with the namespaces of the Nodes.
func (p *Pair) Close() error {
	var errs []error
	for _, n := range p.nodes {
		if n != nil {
			errs = append(errs, n.close())
		}
	}
	for _, r := range p.relays {
		r.Close()
	}
	if p.api != nil {
		p.api.Close()
	}
	return errors.Join(errs...)
}

// relayAPI lets a Node reach the API at the address that the API has in this process's network namespace.
func (p *Pair) relayAPI(host *proc.Thread) error {
	address := p.api.Address()
	var l net.Listener
	err := host.Do(func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	if err == nil {
		p.relays = append(p.relays, relay.New(l, func() (net.Conn, error) { return net.Dial("tcp", address) }))
	}
	return err
}
