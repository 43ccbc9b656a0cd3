// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

const clusterFileName = "cluster.json"

var errNotUp = errors.New("no testbed is up: start one with `testbed up`")

// instance is the directory of the testbed that `up` keeps. Its lock is held as long as the testbed runs.
type instance struct {
	dir  string
	lock *os.File
}

// instanceState is the information that other commands need to use a running testbed.
type instanceState struct {
	PID        int             `json:"pid"`
	Started    time.Time       `json:"started"`
	Machine    string          `json:"machine"`
	Endpoint   remote.Endpoint `json:"endpoint"`
	Kubeconfig string          `json:"kubeconfig"`
}

func instanceDir() (string, error) {
	root, err := cache.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "up"), nil
}

// lockInstance takes the lock, or returns nil when another process has it.
func lockInstance(dir string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("locking %s.lock: %w", dir, err)
}

// newInstance makes the directory anew.
func newInstance() (*instance, error) {
	dir, err := instanceDir()
	if err != nil {
		return nil, err
	}
	lock, err := lockInstance(dir)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, errors.New("a testbed is up already: use it, or end it with `testbed down`")
	}
	i := &instance{dir: dir, lock: lock}
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.Mkdir(i.logDir(), 0o700)); err != nil {
		lock.Close()
		return nil, err
	}
	return i, nil
}

func (i *instance) logDir() string      { return filepath.Join(i.dir, "logs") }
func (i *instance) clusterFile() string { return filepath.Join(i.dir, clusterFileName) }

func (i *instance) write(state instanceState) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(i.dir, "state.json"), data, 0o600)
}

// release keeps the logs, removes the rest, and gives the lock back.
func (i *instance) release() {
	entries, err := os.ReadDir(i.dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
	}
	for _, entry := range entries {
		if path := filepath.Join(i.dir, entry.Name()); path != i.logDir() {
			os.RemoveAll(path)
		}
	}
	i.lock.Close()
}

// readInstance returns the state of the testbed that is up, or errNotUp.
func readInstance() (instanceState, cluster.State, error) {
	var state instanceState
	dir, err := instanceDir()
	if err != nil {
		return state, cluster.State{}, err
	}
	lock, err := lockInstance(dir)
	if err != nil {
		return state, cluster.State{}, err
	}
	if lock != nil {
		lock.Close()
		return state, cluster.State{}, errNotUp
	}
	data, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		return state, cluster.State{}, fmt.Errorf("the testbed is not ready yet, or is ending: %w", err)
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return state, cluster.State{}, fmt.Errorf("reading the testbed's state: %w", err)
	}
	nodes, err := cluster.ReadState(filepath.Join(dir, clusterFileName))
	return state, nodes, err
}
