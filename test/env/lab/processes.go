// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// clusterFlags say what `up` makes.
type clusterFlags struct {
	nodes      int
	gates      map[string]string
	tunnelType string
	noAgent    bool
	// podFamilies and nodeFamilies are for cluster.ParseFamilies.
	podFamilies, nodeFamilies string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.nodes, "nodes", 2, "number of Nodes")
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

func upCommand() *cobra.Command {
	var bf bedFlags
	var cf clusterFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster that stays until `down`",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := cf.options(); err != nil {
				return err
			}
			return daemon.Start(cmd.Context(), slices.Concat([]string{"serve"}, bf.args(), cf.args()))
		},
	}
	bf.add(cmd.Flags())
	cf.add(cmd.Flags())
	return cmd
}

func serveCommand() *cobra.Command {
	var bf bedFlags
	var cf clusterFlags
	cmd := &cobra.Command{
		Use:    "serve",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), bf, cf) },
	}
	bf.add(cmd.Flags())
	cf.add(cmd.Flags())
	return cmd
}

// serve keeps a cluster up until it gets SIGTERM.
func serve(ctx context.Context, bf bedFlags, cf clusterFlags) (err error) {
	place, err := daemon.Claim(kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Release()) }()
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
	lines := &lineWriter{to: os.Stdout}
	failed := make(chan error, 1)
	go func() {
		code, err := b.machine.Run(ctx, remote.Command{
			Args: append([]string{exe, "cluster", "--elapsed=" + p.Elapsed().String()}, cf.args()...), Env: env, Dir: place.Dir(), Stdout: lines, Stderr: lines,
		})
		failed <- errors.Join(err, fmt.Errorf("the cluster has ended with exit code %d", code))
	}()
	if err := waitForFile(ctx, clusterFile, failed); err != nil {
		return err
	}
	err = place.Publish(instance{Machine: string(b.machine.Kind()), Endpoint: b.machine.Endpoint(), Kubeconfig: hostKubeconfig})
	if err != nil {
		return err
	}
	fmt.Printf("kubeconfig: %s\nlogs: %s\n", hostKubeconfig, place.LogDir())
	if err := place.Ready(); err != nil {
		return err
	}
	lines.discard() // nobody reads our output any more
	select {
	case <-ctx.Done():
		<-failed // the cluster is closed
		return nil
	case err := <-failed:
		return err
	}
}

// clusterCommand makes the cluster, in the machine.
func clusterCommand() *cobra.Command {
	var cf clusterFlags
	var elapsed time.Duration
	cmd := &cobra.Command{
		Use:    "cluster",
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
	cf.add(cmd.Flags())
	cmd.Flags().DurationVar(&elapsed, "elapsed", 0, "what the clock of progress messages shows at the start")
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
