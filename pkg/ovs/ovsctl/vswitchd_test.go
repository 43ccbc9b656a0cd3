// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsctl

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

func TestVswitchd(t *testing.T) {
	ovs := ovstest.Start(t)
	ovs.AddBridge("br-test")
	v := NewVswitchd(ovs.RunDir)

	output, err := v.Call(t.Context(), "version")
	require.NoError(t, err)
	require.Contains(t, output, "Open vSwitch")
	output, err = v.Call(t.Context(), "fdb/show", "br-test")
	require.NoError(t, err)
	require.Contains(t, output, "VLAN")
	_, err = v.Call(t.Context(), "fdb/show", "br-absent")
	require.ErrorContains(t, err, "fdb/show: no such bridge")
	_, err = v.Call(t.Context(), "nonsense")
	require.ErrorContains(t, err, `"nonsense" is not a valid command`)
	_, err = NewVswitchd(t.TempDir()).Call(t.Context(), "version")
	require.ErrorContains(t, err, "ovs-vswitchd.pid")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = v.Call(ended, "version")
	require.ErrorIs(t, err, context.Canceled)
}

func TestWaitRevalidation(t *testing.T) {
	ovs := ovstest.Start(t)
	ovs.AddBridge("br-test")
	begun := time.Now()
	require.NoError(t, NewVswitchd(ovs.RunDir).WaitRevalidation(t.Context()))
	t.Log("waited", time.Since(begun))

	ended, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	require.ErrorIs(t, NewVswitchd(ovs.RunDir).WaitRevalidation(ended), context.Canceled)
}

// An answer that does not end is an error.
func TestEndlessReply(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ovs-vswitchd.pid"), []byte("7\n"), 0o600))
	listener, err := net.Listen("unix", filepath.Join(dir, "ovs-vswitchd.7.ctl"))
	require.NoError(t, err)
	defer listener.Close()
	sent := make(chan int, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		piece, total := bytes.Repeat([]byte("x"), 1<<20), 0
		_, err = conn.Write([]byte(`{"id":1,"error":null,"result":"`))
		for err == nil {
			var n int
			n, err = conn.Write(piece)
			total += n
		}
		sent <- total
	}()
	_, err = NewVswitchd(dir).Call(t.Context(), "dpctl/dump-flows")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, <-sent, maxReply+4<<20)
}

// TestRoundsOfRevalidation: two rounds can end before a megaflow of the old tables is found; see revalidationRounds.
func TestRoundsOfRevalidation(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ovs-vswitchd.pid"), []byte("7\n"), 0o600))
	listener, err := net.Listen("unix", filepath.Join(dir, "ovs-vswitchd.7.ctl"))
	require.NoError(t, err)
	commands := make(chan string, 10)
	go func() {
		defer close(commands)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			var request struct{ Method string }
			if json.NewDecoder(conn).Decode(&request) == nil {
				commands <- request.Method
				_, _ = conn.Write([]byte(`{"id":1,"result":"","error":null}`))
			}
			conn.Close()
		}
	}()
	require.NoError(t, NewVswitchd(dir).WaitRevalidation(t.Context()))
	require.NoError(t, listener.Close())
	var got []string
	for c := range commands {
		got = append(got, c)
	}
	require.Equal(t, []string{"revalidator/wait", "revalidator/wait", "revalidator/wait"}, got)
}

func TestInstance(t *testing.T) {
	ovs := ovstest.Start(t)
	v := NewVswitchd(ovs.RunDir)
	first, err := v.Instance()
	require.NoError(t, err)
	again, err := v.Instance()
	require.NoError(t, err)
	require.Equal(t, first, again)
	ovs.KillVswitchd()
	ovs.StartVswitchd()
	second, err := v.Instance()
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	_, err = NewVswitchd(t.TempDir()).Instance()
	require.ErrorContains(t, err, "ovs-vswitchd.pid")
}
