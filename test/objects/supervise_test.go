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

	"github.com/antrea-oncache/antrea/test/sandbox"
)

// progress is what a process leaves to the next one if it panics.
type progress struct {
	Seed            uint64
	Set             int
	Bad, Collateral int
	// Life is the one of the set that was begun last, Crashed are those that ended a process.
	Life    int
	Crashed []int
}

// progressFile is the environment variable with the path of the file with the progress.
const progressFile = "OBJECTS_PROGRESS"

// panicked is the exit code of a Go program that panics.
const panicked = 2

// supervise runs the tests, in a process of their own, until they have ended without a panic.
func supervise(run func() int) int {
	if path := os.Getenv(progressFile); path == "" {
		file, err := os.CreateTemp("", "objects-progress")
		if err != nil {
			fmt.Fprintln(os.Stderr, "objects:", err)
			return 1
		}
		file.Close()
		defer os.Remove(file.Name())
		os.Setenv(progressFile, file.Name())
	}
	for {
		code := sandbox.Run(context.Background(), run)
		if code != panicked || !noteCrash() {
			return code
		}
	}
}

// noteCrash enters that the life which was begun has ended the process. It is false when that was none with bad objects.
func noteCrash() bool {
	p, err := loadProgress()
	if err != nil || p.Life == withoutBad {
		return false
	}
	p.Crashed, p.Life = append(p.Crashed, p.Life), withoutBad
	return p.save() == nil
}

func loadProgress() (*progress, error) {
	content, err := os.ReadFile(os.Getenv(progressFile))
	if err != nil {
		return nil, err
	}
	p := &progress{Life: withoutBad}
	if len(content) == 0 {
		return p, nil
	}
	return p, json.Unmarshal(content, p)
}

func (p *progress) save() error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv(progressFile), content, 0o600)
}

func readProgress(t *testing.T) *progress {
	p, err := loadProgress()
	require.NoError(t, err)
	if p.Seed == 0 {
		if p.Seed = *seed; p.Seed == 0 {
			p.Seed = rand.Uint64()>>1 + 1
		}
	}
	*seed = p.Seed
	return p
}

// begin notes that a life begins. What was counted of the set is counted again if it is interrupted.
func (p *progress) begin(t *testing.T, life int) {
	saved := *p
	saved.Life = life
	require.NoError(t, saved.save())
}

func (p *progress) next() { p.Set, p.Crashed = p.Set+1, nil }
