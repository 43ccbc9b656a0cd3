// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ovsctl gets from Open vSwitch what neither OpenFlow nor OVSDB offers: flows as its own tools print them (ovsctl.go), and
// the moment from which its datapath follows the OpenFlow tables (vswitchd.go).
package ovsctl

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/ovs/ofctl"
)

// Client runs ovs-ofctl (OpenFlow 1.5) over a bridge's management socket.
type Client struct {
	target string
}

// New returns a client of the bridge whose management socket is <runDir>/<bridge>.mgmt.
func New(runDir, bridge string) *Client {
	return &Client{target: "unix:" + filepath.Join(runDir, bridge+".mgmt")}
}

// DumpFlows returns the flows that filter selects (ovs-ofctl(8) syntax, "" for all), one line each, with names instead
// of numbers for tables and ports, and without cookie and duration: these differ after every restart. The error contains
// the message of ovs-ofctl.
func (c *Client) DumpFlows(ctx context.Context, filter string) ([]string, error) {
	return c.dumpFlows(ctx, filter, "cookie=", "duration=")
}

// DumpFlowsWithCookies is DumpFlows with cookies and durations.
func (c *Client) DumpFlowsWithCookies(ctx context.Context, filter string) ([]string, error) {
	return c.dumpFlows(ctx, filter)
}

// dumpFlows leaves out leading fields.
func (c *Client) dumpFlows(ctx context.Context, filter string, without ...string) ([]string, error) {
	args := []string{"-O", "OpenFlow15", "--names", "dump-flows", c.target}
	if filter != "" {
		args = append(args, filter)
	}
	var stdout []byte
	err := ofctl.Retry(ctx, func() (string, error) {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, "ovs-ofctl", args...)
		cmd.Stderr = &stderr
		var err error
		if stdout, err = cmd.Output(); err != nil {
			err = fmt.Errorf("ovs-ofctl dump-flows %s %q: %w: %s", c.target, filter, err, strings.TrimSpace(stderr.String()))
		}
		return stderr.String(), err
	})
	if err != nil {
		return nil, err
	}
	return parseFlows(string(stdout), without...), nil
}

// parseFlows drops the header line and the unwanted fields.
func parseFlows(dump string, without ...string) []string {
	var flows []string
	for line := range strings.Lines(dump) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "cookie=") {
			continue
		}
		flows = append(flows, cutFields(line, without...))
	}
	return flows
}

// cutFields removes leading "field=value, " in this order.
func cutFields(line string, fields ...string) string {
	for _, field := range fields {
		if !strings.HasPrefix(line, field) {
			continue
		}
		if _, rest, ok := strings.Cut(line, ", "); ok {
			line = rest
		}
	}
	return line
}
