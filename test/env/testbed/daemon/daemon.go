// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package daemon keeps something up that one command starts and another one ends: at most one daemon of each kind on a machine, which
// the others find by a directory in the cache.
//
// A command such as `lab up` calls Start, which runs `lab serve`. That one calls Claim, starts what it has to, and calls Ready. Other
// commands call Read, and `lab down` calls Stop.
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
)

var (
	// ErrUp says that there is a daemon of the kind already, ErrDown that there is none.
	ErrUp   = errors.New("a cluster is up already: use it, or end it with `lab down` or `make down`; CLUSTER_NAME in the environment makes another one")
	ErrDown = errors.New("no cluster is up: start one with `make cluster-up`, `make demo-up` or `lab up`")
)

const stateFile = "state.json"

// Place is the private directory of a running daemon. Its lock is held as long as the daemon runs.
type Place struct {
	dir  string
	lock *os.File
}

func dirOf(kind string) (string, error) {
	root, err := cache.Root()
	return filepath.Join(root, kind), err
}

// tryLock takes the lock, or returns nil when another process has it.
func tryLock(dir string) (*os.File, error) {
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

// Claim makes a new directory for a kind of daemon, with the subdirectory logs. It returns ErrUp if another process has
// it.
func Claim(kind string) (*Place, error) {
	dir, err := dirOf(kind)
	if err != nil {
		return nil, err
	}
	lock, err := tryLock(dir)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, ErrUp
	}
	p := &Place{dir: dir, lock: lock}
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.Mkdir(p.LogDir(), 0o700)); err != nil {
		lock.Close()
		return nil, err
	}
	return p, nil
}

// Dir is the directory, LogDir the one below it that outlives the daemon.
func (p *Place) Dir() string    { return p.dir }
func (p *Place) LogDir() string { return filepath.Join(p.dir, "logs") }

// Publish writes what other commands need to use the daemon; Read gives it to them.
func (p *Place) Publish(state any) error {
	data, err := json.Marshal(published{PID: os.Getpid(), Started: time.Now(), State: state})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, stateFile), data, 0o600)
}

type published struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	State   any       `json:"state"`
}

// Release keeps the logs, removes the rest, and gives the lock back.
func (p *Place) Release() error {
	defer p.lock.Close()
	entries, err := os.ReadDir(p.dir)
	errs := []error{err}
	for _, entry := range entries {
		if path := filepath.Join(p.dir, entry.Name()); path != p.LogDir() {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// Running is a daemon that is up.
type Running struct {
	Dir     string
	PID     int
	Started time.Time
}

// Read reads into state what the daemon has published. It returns ErrDown if there is none.
func Read(kind string, state any) (Running, error) {
	dir, err := dirOf(kind)
	if err != nil {
		return Running{}, err
	}
	lock, err := tryLock(dir)
	if err != nil {
		return Running{}, err
	}
	if lock != nil {
		lock.Close()
		return Running{}, ErrDown
	}
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return Running{}, fmt.Errorf("it is not ready yet, or is ending: %w", err)
	}
	p := published{State: state}
	if err := json.Unmarshal(data, &p); err != nil {
		return Running{}, fmt.Errorf("reading the state of what is up: %w", err)
	}
	return Running{Dir: dir, PID: p.PID, Started: p.Started}, nil
}

// Stop ends the daemon and waits until it has ended. It returns ErrDown if there is none.
func Stop(ctx context.Context, kind string, timeout time.Duration) error {
	running, err := Read(kind, nil)
	if err != nil {
		return err
	}
	// The lock says that this process runs, so its id has not been reused.
	if err := syscall.Kill(running.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("ending process %d: %w", running.PID, err)
	}
	deadline := time.After(timeout)
	for {
		lock, err := tryLock(running.Dir)
		if err != nil {
			return err
		}
		if lock != nil {
			lock.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("process %d has not ended after %s", running.PID, timeout)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
