// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cleanup removes from a Node what the agent and its installation have made there, when they are uninstalled.
//
// Each step finds the remains of one kind on the Node itself, not in a record, so that a cleanup can be repeated or
// continued, and also finds what earlier versions have made. Then it removes them, with a line for each. cleanup.go
// defines the order, cni.go removes what the init container has installed, switch.go the datapath of Open vSwitch,
// state.go sysctls, conntrack entries and directories. worker.go removes and counts.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress/assign"
	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
	"github.com/antrea-oncache/antrea/pkg/agent/nodelock"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
)

// Options say where things are.
type Options struct {
	// Root is the directory with the Node's /etc/cni/net.d, CNIBinDir, /var/run and /var/log; "/" on the Node itself.
	Root string
	// CNIBinDir is the Node's directory of CNI plugins.
	CNIBinDir string
	// Bridge and Gateway are the names that the agent was configured with: they tell its datapath from others.
	Bridge, Gateway string
	// UnlessExists is a file that is there as long as Antrea is installed in the cluster; then nothing is removed. Empty for none.
	UnlessExists string
	// KeepLogs leaves /var/log/antrea.
	KeepLogs bool
	// DryRun finds and says everything, and changes nothing.
	DryRun bool
	// Out gets a line for each thing that is removed.
	Out io.Writer

	// pinPath is the pin path of the cache; tests have another one.
	pinPath string
}

const (
	runDirectory  = "/var/run/antrea"
	logDirectory  = "/var/log/antrea"
	confDirectory = "/etc/cni/net.d"
)

func (o *Options) path(name string) string { return filepath.Join(o.Root, name) }

// step is one kind of leftovers.
type step struct {
	name string
	find func(context.Context) ([]leftover.Item, error)
}

// steps are in the order in which they are taken: first the runtime must start no more Pods, then nothing must use the bridge, while
// routes and rules still keep Pods' packets from the network; what is necessary to continue after a failure goes last.
func (o *Options) steps() []step {
	return []step{
		{"CNI", o.cni},
		{"eBPF", func(context.Context) ([]leftover.Item, error) { return datapath.Leftovers(o.pinPath) }},
		{"Open vSwitch", o.openvswitch},
		{"firewall", route.Leftovers},
		{"Egress", assign.Leftovers},
		{"WireGuard", wireguard.Leftovers},
		{"conntrack", o.conntrack},
		{"sysctls", o.sysctls},
	}
}

func (o *Options) checkUninstalled() error {
	if o.UnlessExists == "" {
		return nil
	}
	if _, err := os.Stat(o.UnlessExists); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the Node is not cleaned up: Antrea is still installed, since %s, a key of ConfigMap kube-system/antrea-config, exists; "+
			"uninstall it first (helm uninstall antrea, or kubectl delete -f antrea.yml)", o.UnlessExists)
	}
	return nil
}

// Run cleans the Node of the current network namespace up. It refuses while an agent or ovs-vswitchd runs there. A failure of one step does not
// stop the others; only the directory with the agent's state stays then, and the cleanup can be repeated.
func (o Options) Run(ctx context.Context) error {
	if o.pinPath == "" {
		o.pinPath = oncache.DefaultPinPath
	}
	if err := o.checkUninstalled(); err != nil {
		return err
	}
	directories := o.directories()
	if !o.DryRun || len(directories) > 0 {
		// This makes the directory if it does not exist, and it is removed below.
		unlock, err := nodelock.Lock(ctx, filepath.Join(o.path(runDirectory), filepath.Base(nodelock.DefaultFile)))
		if err != nil {
			return fmt.Errorf("the Node is not cleaned up: %w; delete the DaemonSet antrea-agent first", err)
		}
		defer unlock()
	}
	if err := waitForSwitch(ctx, o.Out); err != nil {
		return fmt.Errorf("the Node is not cleaned up: %w", err)
	}
	w := worker{dryRun: o.DryRun, out: o.Out}
	for _, s := range o.steps() {
		items, err := s.find(ctx)
		if err != nil {
			w.fail(s.name, err)
		}
		w.remove(items)
	}
	if w.failed != nil {
		return fmt.Errorf("some things are left, and %s, which the next attempt needs: %w", o.path(runDirectory), w.failed)
	}
	w.remove(directories)
	return errors.Join(w.failed, w.finish(o.path(runDirectory)))
}
