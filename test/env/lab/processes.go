// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// clusterFileName is the file by which the cluster in the machine tells where its Nodes are.
const clusterFileName = "cluster.json"

// clusterFlags are the flags of `up` without kubelets, beside bedFlags.
type clusterFlags struct {
	nodes      int
	gates      map[string]string
	tunnelType string
	noAgent    bool
	// podFamilies and nodeFamilies are for cluster.ParseFamilies.
	podFamilies, nodeFamilies string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringToStringVar(&f.gates, "feature-gates", nil, "feature gates of the agent, for example ONCache=true")
	flags.StringVar(&f.tunnelType, "tunnel-type", "", "tunnel of the agent: geneve, vxlan (default the agent's)")
	flags.StringVar(&f.podFamilies, "ip-families", "ipv4", "IP versions of Pods: ipv4, ipv6, or ipv4,ipv6")
	flags.StringVar(&f.nodeFamilies, "node-ip-families", "ipv4", "IP versions of the Nodes' addresses, for tunnel packets: ipv4, ipv6, or ipv4,ipv6")
	flags.BoolVar(&f.noAgent, "no-agent", false, "start Open vSwitch only")
}

// args is the command line that add reads.
func (f *clusterFlags) args() []string {
	args := []string{
		"--nodes=" + strconv.Itoa(f.nodes), "--tunnel-type=" + f.tunnelType, "--no-agent=" + strconv.FormatBool(f.noAgent),
		"--ip-families=" + f.podFamilies, "--node-ip-families=" + f.nodeFamilies,
	}
	for gate, value := range f.gates {
		args = append(args, "--feature-gates="+gate+"="+value)
	}
	return args
}

func (f *clusterFlags) options() (o cluster.Options, err error) {
	o = cluster.Options{Nodes: f.nodes, TunnelType: f.tunnelType, FeatureGates: map[string]bool{}}
	if o.PodFamilies, err = cluster.ParseFamilies(f.podFamilies); err != nil {
		return o, err
	}
	if o.NodeFamilies, err = cluster.ParseFamilies(f.nodeFamilies); err != nil {
		return o, err
	}
	for gate, value := range f.gates {
		enabled, err := strconv.ParseBool(value)
		if err != nil {
			return o, fmt.Errorf("feature gate %s is %q, want true or false", gate, value)
		}
		o.FeatureGates[gate] = enabled
	}
	return o, nil
}

// serveProcesses keeps up a cluster whose Nodes are namespaces of one machine, until it gets SIGTERM.
func serveProcesses(ctx context.Context, bf bedFlags, cf clusterFlags, place *daemon.Place) error {
	p := progress.New(os.Stdout)
	b, err := startBed(ctx, bf, place.Dir(), place.LogDir(), p)
	if err != nil {
		return err
	}
	defer b.Close()
	hostKubeconfig := filepath.Join(place.Dir(), "kubeconfig.host")
	if err := b.controlPlane.WriteKubeconfig(hostKubeconfig, "127.0.0.1"); err != nil {
		return err
	}
	env, err := b.environment()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	clusterFile := filepath.Join(place.Dir(), clusterFileName)
	failed := make(chan error, 1)
	go func() {
		code, err := b.machine.Run(ctx, remote.Command{
			Args: append([]string{exe, "processes", "--elapsed=" + p.Elapsed().String()}, cf.args()...), Env: env, Dir: place.Dir(), Stdout: os.Stdout, Stderr: os.Stderr,
		})
		failed <- errors.Join(err, fmt.Errorf("the cluster has ended with exit code %d", code))
	}()
	if err := waitForFile(ctx, clusterFile, failed); err != nil {
		return err
	}
	state, err := cluster.ReadState(clusterFile)
	if err != nil {
		return err
	}
	up := instance{Machine: string(b.machine.Kind()), Kubeconfig: hostKubeconfig}
	for _, n := range state.Nodes {
		up.Nodes = append(up.Nodes, node{Name: n.Name, IP: n.IP, Endpoint: b.machine.Endpoint(), Enter: n.Enter, Env: n.Env})
	}
	if err := place.Publish(up); err != nil {
		return err
	}
	fmt.Printf("kubeconfig: %s\nlogs: %s\n", hostKubeconfig, place.LogDir())
	if err := place.Ready(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		<-failed // the cluster is closed
		return nil
	case err := <-failed:
		return err
	}
}

// processesCommand makes the cluster, in the machine.
func processesCommand() *cobra.Command {
	var cf clusterFlags
	var elapsed time.Duration
	cmd := &cobra.Command{
		Use:    "processes",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx := cmd.Context()
			o, err := cf.options()
			if err != nil {
				return err
			}
			o.Progress = progress.Continue(os.Stdout, elapsed)
			c, err := cluster.New(ctx, o)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			if !cf.noAgent {
				if err := c.StartAgents(ctx); err != nil {
					return err
				}
			}
			if err := c.State().Write(filepath.Join(os.Getenv("TESTBED_DIR"), clusterFileName)); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		},
	}
	addNodes(cmd.Flags(), &cf.nodes)
	cf.add(cmd.Flags())
	cmd.Flags().DurationVar(&elapsed, "elapsed", 0, "time that progress messages show at the start")
	return cmd
}

// waitForFile waits until a file exists.
func waitForFile(ctx context.Context, path string, failed <-chan error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-tick.C:
		}
	}
}
