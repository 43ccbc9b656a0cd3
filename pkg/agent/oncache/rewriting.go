// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// RewritePortAnnotation of a Node is the port for rewritten packets if its agent understands keys. Others tell it keys if they use the same
// port.
const RewritePortAnnotation = "node.antrea.io/oncache-rewrite-port"

// rewriters are the Nodes whose agents understand keys, by their objects, which may come before or after the Nodes are announced.
type rewriters struct {
	mu    sync.Mutex
	names map[string]bool
	// tell is called for a Node that may be told keys from now on, or no longer; nil before Start.
	tell func(name string)
}

func newRewriters() *rewriters { return &rewriters{names: map[string]bool{}} }

// has reports whether the Node itself understands keys.
func (r *rewriters) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[name]
}

// set records the object of a Node.
func (r *rewriters) set(name string, rewrites bool) {
	r.mu.Lock()
	if r.names[name] == rewrites {
		r.mu.Unlock()
		return
	}
	if rewrites {
		r.names[name] = true
	} else {
		delete(r.names, name)
	}
	tell := r.tell
	r.mu.Unlock()
	if tell != nil {
		tell(name)
	}
}

// follow calls tell for all changes from now on.
func (r *rewriters) follow(tell func(name string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = tell
}

// SetNodeAnnotation sets the value of RewritePortAnnotation of another Node, empty if it has none or is gone.
func (m *Manager) SetNodeAnnotation(name, value string) {
	m.rewriters.set(name, m.config.Rewrite && value == strconv.Itoa(int(m.config.RewritePort)))
}

// Annotation is the value for RewritePortAnnotation of this Node after Start.
func (m *Manager) Annotation() string {
	if !m.config.Rewrite || m.Unavailable() != nil {
		return ""
	}
	return strconv.Itoa(int(m.config.RewritePort))
}

// setRewrites tells the programs whether a Node may be told keys at present.
func (l *ledger) setRewrites(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.nodes[name] {
		l.dp.SetNodeRewrites(n.slot, l.rewritesTo(n))
	}
	klog.InfoS("Changed whether a Node is told keys", "node", name, "rewrites", l.rewrites(name))
}

// rewritesTo reports whether packets to the Node may be rewritten instead of encapsulated.
func (l *ledger) rewritesTo(n *node) bool { return n.Reach.Kind == reach.Tunnel && l.rewrites(n.Name) }

// reservedSysctl lists the ports that the kernel does not choose for sockets.
const reservedSysctl = "net/ipv4/ip_local_reserved_ports"

// reservePort keeps the kernel from choosing the port for rewritten packets as the local port of a connection: Ingress takes all packets to
// it. A port of 0 ends the reservation.
func reservePort(sysctls *sysctl.Record, port uint16) error {
	if port == 0 {
		return sysctls.Restore(reservedSysctl)
	}
	present, err := sysctls.Read(reservedSysctl)
	if err != nil {
		return err
	}
	wanted, err := withPort(present, port)
	if err != nil {
		return fmt.Errorf("sysctl %s: %w", reservedSysctl, err)
	}
	return sysctls.Set(reservedSysctl, wanted)
}

// portRange is a range of ports, both ends included.
type portRange struct{ first, last int }

// withPort adds a port to a list of ports and ranges, in the form in which the kernel writes it: in order, and joined where they touch.
func withPort(list string, port uint16) (string, error) {
	ranges := []portRange{{int(port), int(port)}}
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		from, to, isRange := strings.Cut(text, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		if err == nil {
			var last int
			last, err = strconv.Atoi(to)
			ranges = append(ranges, portRange{first, last})
		}
		if err != nil {
			return "", fmt.Errorf("%q is not a list of ports", list)
		}
	}
	slices.SortFunc(ranges, func(a, b portRange) int { return a.first - b.first })
	joined := ranges[:1]
	for _, r := range ranges[1:] {
		if last := &joined[len(joined)-1]; r.first <= last.last+1 {
			last.last = max(last.last, r.last)
		} else {
			joined = append(joined, r)
		}
	}
	texts := make([]string, len(joined))
	for i, r := range joined {
		texts[i] = strconv.Itoa(r.first)
		if r.last > r.first {
			texts[i] += "-" + strconv.Itoa(r.last)
		}
	}
	return strings.Join(texts, ","), nil
}
