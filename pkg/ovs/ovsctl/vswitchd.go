// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxReply bounds an answer of ovs-vswitchd, in bytes of JSON. A datapath with a hundred thousand flows has some ten million.
const maxReply = 64 << 20

// Vswitchd sends commands of ovs-appctl(8) to ovs-vswitchd, over its control socket.
type Vswitchd struct {
	runDir string
}

// NewVswitchd returns a client of the ovs-vswitchd whose pid file and socket are in runDir.
func NewVswitchd(runDir string) *Vswitchd { return &Vswitchd{runDir: runDir} }

func (v *Vswitchd) pidFile() string { return filepath.Join(v.runDir, "ovs-vswitchd.pid") }

// Instance returns a text that is another one after each start of ovs-vswitchd: what is known of its pid file. A pid alone would not do,
// because containers give the same one to each process in turn.
func (v *Vswitchd) Instance() (string, error) {
	info, err := os.Stat(v.pidFile())
	if err != nil {
		return "", fmt.Errorf("find out whether ovs-vswitchd has restarted: %w", err)
	}
	pid, err := os.ReadFile(v.pidFile())
	if err != nil {
		return "", fmt.Errorf("find out whether ovs-vswitchd has restarted: %w", err)
	}
	return fmt.Sprintf("%s %d", strings.TrimSpace(string(pid)), info.ModTime().UnixNano()), nil
}

// Call sends a command, such as "coverage/show", and returns its output. If ovs-vswitchd refuses it, the error has its message.
func (v *Vswitchd) Call(ctx context.Context, command string, args ...string) (output string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("ovs-vswitchd %s: %w", command, err)
		}
	}()
	pid, err := os.ReadFile(v.pidFile())
	if err != nil {
		return "", err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(v.runDir, "ovs-vswitchd."+strings.TrimSpace(string(pid))+".ctl"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if args == nil {
		args = []string{}
	}
	// JSON-RPC 1.0, the unixctl protocol of Open vSwitch's lib/unixctl.c.
	request := struct {
		Method string   `json:"method"`
		Params []string `json:"params"`
		ID     int      `json:"id"`
	}{command, args, 1}
	var reply struct {
		Result *string `json:"result"`
		Error  *string `json:"error"`
	}
	if err := errors.Join(json.NewEncoder(conn).Encode(request), json.NewDecoder(io.LimitReader(conn, maxReply)).Decode(&reply)); err != nil {
		return "", errors.Join(ctx.Err(), err)
	}
	switch {
	case reply.Error != nil:
		return "", errors.New(strings.TrimSpace(*reply.Error))
	case reply.Result == nil:
		return "", nil
	}
	return *reply.Result, nil
}

// revalidationRounds is the number of rounds whose end is waited for. The first round that ends may have begun before the tables
// changed; when the main thread reports its end, it has told the revalidators of the change. The second may have begun between
// these two moments. A handler thread that had translated a packet by the old tables can install its megaflow after a round has
// passed it; the next round, which is the third, finds it.
const revalidationRounds = 3

// WaitRevalidation returns when the datapath no longer forwards packets by OpenFlow tables from before the call. An OpenFlow
// barrier does not wait for that. Open vSwitch revalidates all megaflows after a change, and twice a second.
func (v *Vswitchd) WaitRevalidation(ctx context.Context) error {
	for range revalidationRounds {
		if _, err := v.Call(ctx, "revalidator/wait"); err != nil {
			return err
		}
	}
	return nil
}
