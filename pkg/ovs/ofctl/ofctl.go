// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ofctl recognizes the failure of ovs-ofctl(8) after which it can be run again.
package ofctl

import "regexp"

var closedConnection = regexp.MustCompile(`ovs-ofctl: .*failed to (open|connect to) socket \((Broken pipe|Connection reset by peer)\)`)

// NothingSent reports whether ovs-ofctl has printed that its connection was closed before it could send a request. ovs-vswitchd closes a connection
// whose hello does not come within a second, as on a busy machine (measured with Open vSwitch 3.1).
func NothingSent(stderr string) bool { return closedConnection.MatchString(stderr) }
