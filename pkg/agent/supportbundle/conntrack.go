// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// writeConnections writes a line for each connection of the zones.
func writeConnections(ctx context.Context, w io.Writer, zones []uint16) error {
	out := bufio.NewWriter(w)
	written := 0
	var stopped error
	err := conntrack.List(zones, func(c *conntrack.Connection) bool {
		if stopped = ctx.Err(); stopped != nil {
			return false
		}
		if written == maxConnections {
			_, stopped = fmt.Fprintf(out, "# there are more than %d connections\n", maxConnections)
			return false
		}
		written++
		state := "-"
		if c.TCP != nil {
			state = fmt.Sprintf("%+v", *c.TCP)
		}
		_, stopped = fmt.Fprintf(out, "zone=%d orig=%v reply=%v mark=%#x label=%#x,%#x timeout=%v assured=%t established=%t tcp=%s\n",
			c.Zone, c.Original, c.Reply, c.Mark, c.Labels[0], c.Labels[1], c.Timeout, c.Assured, c.Established, state)
		return stopped == nil
	})
	return errors.Join(err, stopped, out.Flush())
}
