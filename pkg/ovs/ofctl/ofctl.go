// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ofctl repeats ovs-ofctl(8) after the failure after which that is right.
package ofctl

import (
	"context"
	"regexp"
)

// attempts is the number of times that ovs-ofctl is run at most. Each that fails takes a second.
const attempts = 20

var closedConnection = regexp.MustCompile(`ovs-ofctl: .*failed to (open|connect to) socket \((Broken pipe|Connection reset by peer)\)`)

// Retry calls run, which runs ovs-ofctl alone and returns what that has written to standard error, again while ovs-ofctl has sent nothing because its
// connection was closed. ovs-vswitchd closes a connection whose hello does not come within a second, as on a busy machine (measured with Open vSwitch
// 3.1). It returns the last error of run.
func Retry(ctx context.Context, run func() (stderr string, err error)) error {
	for i := 1; ; i++ {
		stderr, err := run()
		if err == nil || i == attempts || ctx.Err() != nil || !closedConnection.MatchString(stderr) {
			return err
		}
	}
}
