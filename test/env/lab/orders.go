// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/kubecluster"
)

// controlSocket is the socket for orders to the cluster that is up, in its private directory.
const controlSocket = "control.sock"

// order is an order to the cluster: reboot a Node, or add one if Reboot is empty.
type order struct {
	Reboot string `json:"reboot"`
}

// answer has the name of the Node, or an error.
type answer struct {
	Node  string `json:"node"`
	Error string `json:"error"`
}

// takeOrders carries out one order after the other until ctx ends. published is called after each one.
func takeOrders(ctx context.Context, dir string, c *kubecluster.Cluster, publish func() error) error {
	listener, err := net.Listen("unix", filepath.Join(dir, controlSocket))
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			carryOut(ctx, conn, c, publish)
		}
	}()
	return nil
}

func carryOut(ctx context.Context, conn net.Conn, c *kubecluster.Cluster, publish func() error) {
	defer conn.Close()
	var o order
	var a answer
	err := json.NewDecoder(conn).Decode(&o)
	if err == nil {
		a.Node, err = obey(ctx, o, c)
	}
	if err = errors.Join(err, publish()); err != nil {
		a.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(a) // whoever has asked may be gone
}

func obey(ctx context.Context, o order, c *kubecluster.Cluster) (string, error) {
	if o.Reboot == "" {
		n, err := c.AddNode(ctx)
		if err != nil {
			return "", err
		}
		return n.Name, nil
	}
	for _, n := range c.Nodes {
		if n.Name == o.Reboot {
			return n.Name, n.Reboot(ctx)
		}
	}
	return "", fmt.Errorf("there is no Node %q, the Nodes are node-1 to node-%d", o.Reboot, len(c.Nodes))
}

// give gives the cluster that is up an order and waits until it is carried out.
func give(ctx context.Context, o order) (string, error) {
	_, running, err := readKubelets()
	if err != nil {
		return "", err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(running.Dir, controlSocket))
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(o); err != nil {
		return "", err
	}
	var a answer
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return "", errors.Join(ctx.Err(), err)
	}
	if a.Error != "" {
		return "", errors.New(a.Error)
	}
	return a.Node, nil
}

func rebootCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reboot NODE",
		Short: "Switch a Node of the cluster that `up` has started off, as a loss of power would, and boot it again",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := give(cmd.Context(), order{Reboot: args[0]})
			return err
		},
	}
}

func addNodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add-node",
		Short: "Boot one more Node in the cluster that `up` has started, and print its name",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, err := give(cmd.Context(), order{})
			if err == nil {
				fmt.Println(name)
			}
			return err
		},
	}
}
