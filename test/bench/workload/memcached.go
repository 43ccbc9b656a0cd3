// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// clients is the number of concurrent connections of the applications' clients.
const clients = 16

// memcached is memaslap (Debian calls it memcaslap): gets and sets, 9 to 1.
func memcached() Workload {
	const port = 7400
	return Workload{
		Name: "memcached", Tool: "memcaslap", Flows: clients,
		Servers: func(link bed.Link, _ result.State) ([]Server, error) {
			return []Server{{
				Args:     []string{"memcached", "-u", "nobody", "-l", link.Address.String(), "-p", strconv.Itoa(port), "-U", "0", "-t", "1", "-m", "128"},
				Protocol: "tcp", Port: port,
			}}, nil
		},
		Measure: func(ctx context.Context, on Target, length time.Duration) (o Outcome, err error) {
			out, err := on.Client.Exec(ctx, "memcaslap", "-s", endpoint(on.Address, port), "-T", "1", "-c", strconv.Itoa(clients), "-t", fmt.Sprintf("%ds", wholeSeconds(length)))
			if err != nil {
				return o, err
			}
			return parseMemcaslap(out)
		},
	}
}

var memcaslapTotal = regexp.MustCompile(`Run time: [0-9.]+s Ops: (\d+) TPS: (\d+)`)

func parseMemcaslap(out string) (o Outcome, err error) {
	m := memcaslapTotal.FindStringSubmatch(out)
	if m == nil || m[1] == "0" {
		return o, fmt.Errorf("memcaslap has measured nothing: %s", excerpt(out))
	}
	o.Transactions, o.ServerOnly = number(m[1]), true
	o.add(Rate, "1/s", false, number(m[2]))
	return o, nil
}
