// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// patience is the time limit for anything that happens at once on a machine that is not emulated.
const patience = 30 * time.Second

// eventually waits until condition returns nil.
func eventually(t *testing.T, what string, condition func() error) {
	t.Helper()
	eventuallyWithin(t, patience, what, condition)
}

func eventuallyWithin(t *testing.T, limit time.Duration, what string, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		begin := time.Now()
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			require.NoError(t, err, "waiting for %s, %s", what, limit)
		}
		// On an emulated machine the awaited event needs the CPU more.
		time.Sleep(max(100*time.Millisecond, 2*time.Since(begin)))
	}
}

// agentLog is the log of a Node's agent from now on.
type agentLog struct {
	path string
	from int64
}

func followLog(t *testing.T, n *cluster.Node) agentLog {
	t.Helper()
	info, err := os.Stat(n.AgentLog())
	if os.IsNotExist(err) {
		return agentLog{path: n.AgentLog()}
	}
	require.NoError(t, err)
	return agentLog{path: n.AgentLog(), from: info.Size()}
}

func (l agentLog) text() (string, error) {
	data, err := os.ReadFile(l.path)
	if err != nil {
		return "", err
	}
	return string(data[min(l.from, int64(len(data))):]), nil
}

// waitFor waits for a line that contains all words.
func (l agentLog) waitFor(t *testing.T, words ...string) string {
	t.Helper()
	var found string
	eventually(t, "the agent's log to say "+strings.Join(words, " ... "), func() error {
		text, err := l.text()
		if err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			if containsAll(line, words) {
				found = line
				return nil
			}
		}
		return notYet("last lines:\n" + lastLines(text, 5))
	})
	return found
}

type notYet string

func (e notYet) Error() string { return string(e) }

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// once is sync.OnceFunc for functions with checks: after a check that fails, that one ends the whole program.
func once(f func()) func() {
	var o sync.Once
	return func() { o.Do(f) }
}
