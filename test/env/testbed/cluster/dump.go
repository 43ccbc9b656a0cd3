// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// dumps are the commands whose output Dump collects on each Node, by file name.
var dumps = map[string][]string{
	"flows":              {"ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "--names", "br-int"},
	"groups":             {"ovs-ofctl", "-O", "OpenFlow15", "dump-groups", "br-int"},
	"ports":              {"ovs-ofctl", "-O", "OpenFlow15", "dump-ports-desc", "br-int"},
	"ovs-vsctl":          {"ovs-vsctl", "show"},
	"datapath-flows":     {"ovs-appctl", "dpctl/dump-flows", "-m", "--names"},
	"datapath":           {"ovs-appctl", "dpctl/show", "-s"},
	"conntrack":          {"conntrack", "-L"},
	"conntrack6":         {"conntrack", "-L", "-f", "ipv6"},
	"addresses":          {"ip", "addr"},
	"links":              {"ip", "-d", "-s", "link"},
	"routes":             {"ip", "route", "show", "table", "all"},
	"neighbors":          {"ip", "neigh"},
	"iptables":           {"iptables-save", "-c"},
	"ip6tables":          {"ip6tables-save", "-c"},
	"routes6":            {"ip", "-6", "route", "show", "table", "all"},
	"ipset":              {"ipset", "list"},
	"bpf-pins":           {"find", "/sys/fs/bpf"},
	"oncache.json":       {"env", "POD_NAME=antrea-agent", "antctl", "get", "oncache", "-o", "json"},
	"oncache-flows.json": {"env", "POD_NAME=antrea-agent", "antctl", "get", "oncache", "flows", "-o", "json"},
	"agent-config.yaml":  {"cat", agentConfigPath},
}

// Dump writes the state of all Nodes and Pods into dir, one directory per Node, for a failed test. The logs of agents and Open
// vSwitch are already in the cluster's LogDir. The file of a command that fails holds its error.
func (c *Cluster) Dump(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := c.EachNode(func(n *Node) error {
		var errs []error
		into := filepath.Join(dir, n.Name)
		for name, args := range dumps {
			errs = append(errs, dumpOne(ctx, n.Space, filepath.Join(into, name), args))
		}
		for _, p := range n.Pods() {
			file := "pod-" + strings.ReplaceAll(p.Name, "/", "-")
			errs = append(errs, dumpOne(ctx, p.Space, filepath.Join(into, file), []string{"sh", "-c", "ip -s addr; ip route; ip -6 route; ip neigh; ss -ain"}))
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, dumpOne(ctx, c.Fabric, filepath.Join(dir, "dmesg"), []string{"dmesg"}))
}

func dumpOne(ctx context.Context, space *Space, path string, args []string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	text, err := space.Exec(ctx, args...)
	if err != nil {
		text += "\nerror: " + err.Error() + "\n"
	}
	return os.WriteFile(path, []byte("$ "+strings.Join(args, " ")+"\n"+text), 0o644)
}
