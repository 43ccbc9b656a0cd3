// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// account is the state that a process leaves to the next one if it panics.
type account struct {
	Seed            uint64
	Set             int
	Bad, Collateral int
	// Life is the run of the set that was started last, Crashed are the runs that ended a process.
	Life    int
	Crashed []int
}

// accountFile is the environment variable with the path of its file.
const accountFile = "OBJECTS_ACCOUNT"

// panicked is the exit code of a Go program that panics.
const panicked = 2

// supervise runs the tests, in a process of their own, until they have ended without a panic.
func supervise(run func() int) int {
	if path := os.Getenv(accountFile); path == "" {
		file, err := os.CreateTemp("", "objects-account")
		if err != nil {
			fmt.Fprintln(os.Stderr, "objects:", err)
			return 1
		}
		file.Close()
		defer os.Remove(file.Name())
		os.Setenv(accountFile, file.Name())
	}
	for {
		code := sandbox.Run(context.Background(), run)
		if code != panicked || !noteCrash() {
			return code
		}
	}
}

// noteCrash records that the last run has ended the process. It returns false when that run had no bad objects.
func noteCrash() bool {
	p, err := loadAccount()
	if err != nil || p.Life == withoutBad {
		return false
	}
	p.Crashed, p.Life = append(p.Crashed, p.Life), withoutBad
	return p.save() == nil
}

func loadAccount() (*account, error) {
	content, err := os.ReadFile(os.Getenv(accountFile))
	if err != nil {
		return nil, err
	}
	p := &account{Life: withoutBad}
	if len(content) == 0 {
		return p, nil
	}
	return p, json.Unmarshal(content, p)
}

func (p *account) save() error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv(accountFile), content, 0o600)
}

func readAccount(t *testing.T) *account {
	p, err := loadAccount()
	require.NoError(t, err)
	if p.Seed == 0 {
		if p.Seed = *seed; p.Seed == 0 {
			p.Seed = rand.Uint64()>>1 + 1
		}
	}
	*seed = p.Seed
	return p
}

// begin records the start of a run. The counts of the set are counted again if it is interrupted.
func (p *account) begin(t *testing.T, life int) {
	saved := *p
	saved.Life = life
	require.NoError(t, saved.save())
}

func (p *account) next() { p.Set, p.Crashed = p.Set+1, nil }
