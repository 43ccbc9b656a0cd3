// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
)

// state is the state that one agent leaves to the next.
type state struct {
	Ledger ledger
	// FastPath goes with Ledger: what it has counted is at least what Ledger has reported. It is empty without ONCache.
	FastPath networkpolicy.FastState
}

// load reads a file that store has written; nil if there is none.
func load(path string) (*state, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var s state
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(text)).Decode(&s)
	}
	if err == nil && s.Ledger.Session == "" {
		err = errors.New("it has no session")
	}
	if err != nil {
		return nil, fmt.Errorf("what an earlier agent has stored of the statistics of NetworkPolicies, in %s: %w", path, err)
	}
	return &s, nil
}

// store replaces the file as a whole, or leaves it as it is.
func (s *state) store(path string) error {
	var text bytes.Buffer
	err := gob.NewEncoder(&text).Encode(s)
	if err == nil {
		err = statefile.Replace(path, text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("store the statistics of NetworkPolicies for the next agent: %w", err)
	}
	return nil
}
