// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supportbundle defines the agent's support bundle: logs, the Node's network, Open vSwitch, the agent's own API
// and the cache. Files are named like the commands that print the same.
package supportbundle

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/supportbundle"
	"github.com/antrea-oncache/antrea/pkg/uplink"
)

// limits of what grows with the number of connections.
const (
	maxMapEntries  = 50_000
	maxFlows       = 20_000
	maxConnections = 50_000
)

// Cache is the fast path of this Node.
type Cache interface {
	Maps() ([]string, error)
	DumpMap(name string, limit int, w io.Writer) error
	DescribePrograms(w io.Writer) error
}

// Agent is the source of the agent's items.
type Agent struct {
	// LogDirectory contains the agent's log files, OVSLogDirectory the log files of Open vSwitch.
	LogDirectory, OVSLogDirectory string
	// ConfigFile is empty if there is none.
	ConfigFile string
	// OVSRunDir has OVSDB's socket and the one for managing Bridge.
	OVSRunDir, Bridge string
	// Routes are the paths of the agent's API that answer GET without parameters.
	Routes map[string]http.HandlerFunc
	// Cache is nil when the feature gate ONCache is off.
	Cache Cache
	// Uplink is the address of the device that carries tunnel packets.
	Uplink netip.Addr
	// ConntrackZones are the zones of the pipeline.
	ConntrackZones []uint16
}

// routesWithoutAnswer need parameters, or are collected in another form.
var routesWithoutAnswer = []string{"/oncache/explain", "/ovsflows"}

// openVSwitch is the program that may hang. Answers of the agent may also wait for it.
const openVSwitch = "Open vSwitch"

// Items is for supportbundle.Config. The most telling items about a hanging agent or Open vSwitch come first; items
// that ask Open vSwitch come last.
func (a *Agent) Items(since time.Time) []supportbundle.Item {
	return slices.Concat(a.routes(routesFirst),
		supportbundle.Logs("logs/agent/", filepath.Join(a.LogDirectory, "antrea-agent*"), since),
		supportbundle.Logs("logs/ovs/", filepath.Join(a.OVSLogDirectory, "*.log*"), since),
		supportbundle.Logs("logs/networkpolicy/", filepath.Join(a.LogDirectory, "networkpolicy", "*"), since),
		a.configuration(), supportbundle.Process(), network(), a.uplink(), a.conntrack(), a.programs(),
		supportbundle.Asking(openVSwitch, slices.Concat(a.state(), a.openVSwitch())))
}

// routesFirst are paths of which the answers do not depend on Open vSwitch.
var routesFirst = []string{"/problems"}

func (a *Agent) routes(paths []string) []supportbundle.Item {
	routes := map[string]http.HandlerFunc{}
	for _, path := range paths {
		if handler := a.Routes[path]; handler != nil {
			routes[path] = handler
		}
	}
	return supportbundle.Routes("", routes)
}

func (a *Agent) configuration() []supportbundle.Item {
	if a.ConfigFile == "" {
		return nil
	}
	return []supportbundle.Item{supportbundle.File("antrea-agent.conf", a.ConfigFile)}
}

// state is the agent's and the cache's description of themselves, under the names of antctl's commands.
func (a *Agent) state() []supportbundle.Item {
	items := supportbundle.Routes("", a.Routes, slices.Concat(routesFirst, routesWithoutAnswer)...)
	if a.Cache == nil {
		return items // the answer of the route says so
	}
	for _, view := range []string{"flows", "nodes", "endpoints"} {
		query := url.Values{"view": {view}}
		if view == "flows" {
			query.Set("limit", strconv.Itoa(maxFlows))
		}
		items = append(items, supportbundle.Route("oncache-"+view, "/oncache", query, a.Routes["/oncache"]))
	}
	return items
}

func (a *Agent) openVSwitch() []supportbundle.Item {
	bridge := "unix:" + filepath.Join(a.OVSRunDir, a.Bridge+".mgmt")
	database := "--db=unix:" + filepath.Join(a.OVSRunDir, "db.sock")
	items := []supportbundle.Item{
		supportbundle.Command("flows", "ovs-ofctl", "-O", "OpenFlow15", "--names", "dump-flows", bridge),
		supportbundle.Command("groups", "ovs-ofctl", "-O", "OpenFlow15", "dump-groups", bridge),
		supportbundle.Command("groupstats", "ovs-ofctl", "-O", "OpenFlow15", "dump-group-stats", bridge),
		supportbundle.Command("meters", "ovs-ofctl", "-O", "OpenFlow15", "dump-meters", bridge),
		supportbundle.Command("meterstats", "ovs-ofctl", "-O", "OpenFlow15", "meter-stats", bridge),
		supportbundle.Command("ovsports", "ovs-ofctl", "-O", "OpenFlow15", "dump-ports-desc", bridge),
		supportbundle.Command("portstats", "ovs-ofctl", "-O", "OpenFlow15", "--names", "dump-ports", bridge),
		supportbundle.Command("ovsdb/show", "ovs-vsctl", "--timeout=10", database, "show"),
		// Not by ovs-vswitchd, which would not forward during the dump.
		supportbundle.Command("datapath/flows", "ovs-dpctl", "dump-flows", "-m", "--names"),
		supportbundle.Command("datapath/show", "ovs-dpctl", "show", "-s"),
	}
	for _, table := range []string{"Open_vSwitch", "Bridge", "Port", "Interface", "Mirror"} {
		items = append(items, supportbundle.Command("ovsdb/"+table, "ovs-vsctl", "--timeout=10", database, "list", table))
	}
	return items
}

// network is the Node's network as its own tools print it.
func network() []supportbundle.Item {
	return []supportbundle.Item{
		supportbundle.Command("address", "ip", "address"),
		supportbundle.Command("link", "ip", "-details", "-statistics", "link"),
		supportbundle.Command("route", "ip", "route", "show", "table", "all"),
		supportbundle.Command("route6", "ip", "-6", "route", "show", "table", "all"),
		supportbundle.Command("rule", "ip", "rule"),
		supportbundle.Command("rule6", "ip", "-6", "rule"),
		supportbundle.Command("neighbor", "ip", "neighbor"),
		supportbundle.Command("qdisc", "tc", "-statistics", "qdisc"),
		ipsec(),
		supportbundle.Command("iptables", "iptables-nft-save", "-c"),
		supportbundle.Command("ip6tables", "ip6tables-nft-save", "-c"),
		supportbundle.Command("iptables-legacy", "iptables-legacy-save", "-c"),
		supportbundle.Command("ip6tables-legacy", "ip6tables-legacy-save", "-c"),
		supportbundle.Command("ipset", "ipset", "save"),
		supportbundle.File("kernel/version", "/proc/version"),
		supportbundle.File("kernel/netstat", "/proc/net/netstat"),
		supportbundle.File("kernel/snmp", "/proc/net/snmp"),
		supportbundle.File("kernel/meminfo", "/proc/meminfo"),
		supportbundle.Command("kernel/sysctl", "sysctl", "-a", "-r", `^net\.(netfilter|core|ipv4\.(ip_forward|conf\..*\.(rp_filter|forwarding)|tcp_)|ipv6\.conf\..*\.forwarding)`),
	}
}

// uplink describes the device that carries tunnel packets: queues, offloads, MTU, drops and busy CPUs. The manifest has what could not be read.
func (a *Agent) uplink() []supportbundle.Item {
	return []supportbundle.Item{{Name: "uplink", Collect: func(ctx context.Context, w io.Writer) error {
		facts, err := uplink.Read(ctx, "/", a.Uplink)
		if err != nil {
			return err
		}
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(facts)
	}}}
}

// ipsec has the policies. Not the states, which have the keys.
func ipsec() supportbundle.Item {
	policies := supportbundle.Command("ipsec", "ip", "xfrm", "policy")
	return supportbundle.Item{Name: policies.Name, Collect: func(ctx context.Context, w io.Writer) error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_XFRM)
		if errors.Is(err, unix.EPROTONOSUPPORT) {
			_, err := io.WriteString(w, "this kernel has no IPsec\n")
			return err
		}
		if err == nil {
			unix.Close(fd)
		}
		return policies.Collect(ctx, w)
	}}
}

// programs are the eBPF programs and all that they decide by: with the Node's routes and neighbors, a verdict can be found again.
func (a *Agent) programs() []supportbundle.Item {
	if a.Cache == nil {
		return nil
	}
	items := []supportbundle.Item{{Name: "oncache-programs", Collect: func(_ context.Context, w io.Writer) error {
		return a.Cache.DescribePrograms(w)
	}}}
	names, err := a.Cache.Maps()
	if err != nil {
		items = append(items, supportbundle.Text("oncache-maps/none", func(context.Context) (string, error) { return "", err }))
	}
	for _, name := range names {
		items = append(items, supportbundle.Item{Name: "oncache-maps/" + strings.ReplaceAll(name, "/", "-"), Collect: func(_ context.Context, w io.Writer) error {
			return a.Cache.DumpMap(name, maxMapEntries, w)
		}})
	}
	return items
}

func (a *Agent) conntrack() []supportbundle.Item {
	return []supportbundle.Item{{Name: "conntrack", Collect: func(ctx context.Context, w io.Writer) error {
		return writeConnections(ctx, w, a.ConntrackZones)
	}}}
}
