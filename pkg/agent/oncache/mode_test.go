// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// diary is an Observer.
type diary []string

func (d *diary) Suspended(reason error) { *d = append(*d, fmt.Sprintf("suspended: %v", reason)) }
func (d *diary) ModeChanged(from, to datapath.Mode) {
	*d = append(*d, fmt.Sprintf("%s to %s", from, to))
}
func (d *diary) OpenVSwitchAway(error, time.Duration) {}
func (d *diary) NotRewriting(reason error)            { *d = append(*d, fmt.Sprintf("not rewriting: %v", reason)) }

// TestObserver is told of each change once, and of nothing else.
func TestObserver(t *testing.T) {
	var seen diary
	c := &modeControl{set: func(datapath.Mode) {}, evict: func() {}, observer: &seen}
	c.begin(datapath.ModeEnforce, nil)
	c.suspend(nil)
	require.Empty(t, seen, "nothing has happened yet")
	c.suspend(errors.New("down"))
	c.suspend(errors.New("down"))
	c.suspend(errors.New("gone"))
	c.suspend(nil)
	c.suspend(nil)
	c.want(datapath.ModeOff)
	c.want(datapath.ModeOff)
	c.want(datapath.ModeEnforce)
	require.Equal(t, diary{"suspended: down", "suspended: gone", "suspended: <nil>", "enforce to off", "off to enforce"}, seen)

	seen = nil
	c.begin(datapath.ModeEnforce, errors.New("a filter"))
	require.Equal(t, diary{"suspended: a filter"}, seen)
}
