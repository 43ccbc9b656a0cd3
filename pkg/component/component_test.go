// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

func TestCommand(t *testing.T) {
	for _, tc := range []struct {
		name               string
		args               []string
		configErr, runErr  error
		err, printed, said string
		configFile, own    string
		runs               bool
	}{
		{name: "version", args: []string{"--version"}, printed: "antrea-test version "},
		{name: "no flags", runs: true},
		{name: "flags of the DaemonSet", args: []string{
			"--config=/etc/antrea/antrea.conf", "--logtostderr=true", "--log_dir=" + t.TempDir(), "--alsologtostderr",
			"--log_file_max_size=100", "--log_file_max_num=4", "--v=0",
		}, configFile: "/etc/antrea/antrea.conf", runs: true},
		{name: "argument", args: []string{"surplus"}, err: "surplus", printed: "surplus"},
		{name: "unknown flag", args: []string{"--nonsense"}, err: "nonsense", printed: "Error: unknown flag: --nonsense"},
		{name: "own flag", args: []string{"--own=x"}, own: "x", runs: true},
		{name: "bad configuration", configErr: errors.New("bad file"), err: "bad file", said: "bad file"},
		{name: "validation", args: []string{"validate", "--config=/etc/antrea/antrea.conf", "--own=x", "--v=0"}, configFile: "/etc/antrea/antrea.conf", own: "x"},
		{name: "validation of a bad configuration", args: []string{"validate"}, configErr: errors.New("bad file"), err: "bad file", printed: "Error: bad file"},
		{name: "failure", runErr: errors.New("no network"), runs: true, err: "no network", said: "no network"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			logged := logtest.Capture(t)
			var out bytes.Buffer
			configFile, own, runs := "", "", false
			c := &Component{
				Name: "antrea-test", Short: "A test",
				AddFlags:  func(flags *pflag.FlagSet) { flags.StringVar(&own, "own", "", "") },
				Configure: func(file string) error { configFile = file; return tc.configErr },
				Run:       func(context.Context) error { runs = true; return tc.runErr },
			}
			cmd := c.Command()
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			cmd.SetArgs(tc.args)
			err := cmd.Execute()
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.err)
			}
			require.Contains(t, out.String(), tc.printed)
			if tc.said != "" {
				require.Len(t, logged(tc.said), 1)
				require.Empty(t, out.String(), "an error is reported once")
			}
			require.Equal(t, tc.configFile, configFile)
			require.Equal(t, tc.own, own)
			require.Equal(t, tc.runs, runs)
		})
	}
}

// childEnv makes this test program a component that behaves in a certain way.
const childEnv = "ANTREA_TEST_COMPONENT"

func TestMain(m *testing.M) {
	if behavior := os.Getenv(childEnv); behavior != "" {
		os.Args = os.Args[:1]
		c := &Component{Name: "antrea-test", Configure: func(string) error { return nil }, Run: func(ctx context.Context) error {
			if behavior == "fails" {
				return errors.New("no network")
			}
			fmt.Println("runs")
			<-ctx.Done()
			fmt.Println("stops")
			if behavior == "hangs" {
				select {}
			}
			return ctx.Err()
		}}
		os.Exit(c.Execute())
	}
	os.Exit(m.Run())
}

func TestSignalsAndExitCodes(t *testing.T) {
	start := func(behavior string) (*exec.Cmd, *bufio.Scanner) {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+behavior)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return cmd, bufio.NewScanner(out)
	}
	wantLine := func(lines *bufio.Scanner, want string) {
		t.Helper()
		require.True(t, lines.Scan())
		require.Equal(t, want, lines.Text())
	}

	cmd, _ := start("fails")
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 1, exit.ExitCode())

	for _, signal := range []os.Signal{unix.SIGTERM, os.Interrupt} {
		cmd, lines := start("stops")
		wantLine(lines, "runs")
		require.NoError(t, cmd.Process.Signal(signal))
		wantLine(lines, "stops")
		require.NoError(t, cmd.Wait(), "%v: a component that is asked to stop has not failed", signal)
	}

	cmd, lines := start("hangs")
	wantLine(lines, "runs")
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	wantLine(lines, "stops")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(10 * time.Millisecond) // the second signal may come before the first one is handled
	defer ticker.Stop()
	for deadline := time.After(30 * time.Second); ; {
		_ = cmd.Process.Signal(unix.SIGTERM)
		select {
		case err := <-ended:
			require.ErrorAs(t, err, &exit)
			require.Equal(t, unix.SIGTERM, exit.Sys().(syscall.WaitStatus).Signal())
			return
		case <-ticker.C:
		case <-deadline:
			t.Fatal("a second signal does not end the process")
		}
	}
}
