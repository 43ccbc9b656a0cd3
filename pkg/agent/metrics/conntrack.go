// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// countShare bounds the CPU time of counting: after a count comes a pause of countShare times its duration, in which the former number
// is shown.
const countShare = 20

// sysctls has the sizes of the table (nf_conntrack-sysctl.rst of the kernel). The files exist when the kernel tracks connections.
const sysctls = "/proc/sys/net/netfilter"

// Conntrack reads the connection tracking table.
type Conntrack struct {
	// List yields the connections of the zones that Open vSwitch uses.
	List func(yield func(*conntrack.Connection) bool) error

	mu sync.Mutex
	// next is the earliest time of the next count, count the last result.
	next  time.Time
	count int
}

func (c *Conntrack) collect(gauge func(*prometheus.Desc, int, ...string)) {
	for d, name := range map[*prometheus.Desc]string{descConnections: "nf_conntrack_count", descMaxConnections: "nf_conntrack_max"} {
		n, err := readNumber(filepath.Join(sysctls, name))
		if err == nil {
			gauge(d, n)
		} else if !os.IsNotExist(err) {
			klog.ErrorS(err, "Could not read the size of the connection tracking table for the metrics")
		}
	}
	n, err := c.connections()
	if err != nil {
		klog.ErrorS(err, "Could not count connections for the metrics")
		return
	}
	gauge(descPodConnections, n)
}

// connections returns the number of connections in the zones, which may be a former one.
func (c *Conntrack) connections() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	if began.Before(c.next) {
		return c.count, nil
	}
	n := 0
	err := c.List(func(*conntrack.Connection) bool { n++; return true })
	if err != nil {
		return 0, err
	}
	c.count, c.next = n, time.Now().Add(countShare*time.Since(began))
	return n, nil
}

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a number", path, text)
	}
	return n, nil
}
