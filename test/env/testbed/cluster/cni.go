// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// cniAdd calls the Node's CNI plugins as a container runtime does and returns the Pod's addresses, one from each of the Node's Pod
// networks, in their order.
func (p *Pod) cniAdd(ctx context.Context) ([]netip.Addr, error) {
	runtime, list, config, err := p.cni()
	if err != nil {
		return nil, err
	}
	result, err := runtime.AddNetworkList(ctx, list, config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("CNI ADD: %w", err), p.undo(ctx, p.cniDel))
	}
	ips, err := current.GetResult(result)
	if err != nil {
		return nil, fmt.Errorf("CNI ADD's result: %w", err)
	}
	var addrs []netip.Addr
	for _, cidr := range p.Node.PodCIDRs {
		for _, ip := range ips.IPs {
			if addr, ok := netip.AddrFromSlice(ip.Address.IP); ok && cidr.Contains(addr.Unmap()) {
				addrs = append(addrs, addr.Unmap())
			}
		}
	}
	if len(addrs) != len(p.Node.PodCIDRs) {
		return nil, fmt.Errorf("CNI ADD's result %v does not have an address for each of %v", result, p.Node.PodCIDRs)
	}
	return addrs, nil
}

// IPAMDir is the directory of host-local's leases of the network "antrea".
const IPAMDir = "/var/lib/cni/networks/antrea"

// SetNextAddress makes host-local give a certain free address to the Node's next Pod.
func (n *Node) SetNextAddress(ip netip.Addr) error {
	pool := slices.IndexFunc(n.PodCIDRs, func(cidr netip.Prefix) bool { return cidr.Contains(ip) })
	return n.WriteFile(fmt.Sprintf("%s/last_reserved_ip.%d", IPAMDir, pool), []byte(ip.Prev().String()))
}

func (p *Pod) cniDel(ctx context.Context) error {
	runtime, list, config, err := p.cni()
	if err != nil {
		return err
	}
	if err := runtime.DelNetworkList(ctx, list, config); err != nil {
		return fmt.Errorf("CNI DEL: %w", err)
	}
	return nil
}

func (p *Pod) cni() (*libcni.CNIConfig, *libcni.NetworkConfigList, *libcni.RuntimeConf, error) {
	data, err := p.Node.ReadFile(conflistPath)
	if err != nil {
		return nil, nil, nil, err
	}
	list, err := libcni.NetworkConfFromBytes(data)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", conflistPath, err)
	}
	// The runtime's cache of results is written by this process, outside the Node.
	runtime := libcni.NewCNIConfigWithCacheDir([]string{cniBinDir}, filepath.Join(p.Node.LogDir, "cni-results"), nodePlugins{p.Node})
	return runtime, list, &libcni.RuntimeConf{
		ContainerID: p.ContainerID,
		NetNS:       p.NetNS,
		IfName:      podInterface,
		Args: [][2]string{
			{"IgnoreUnknown", "1"},
			{"K8S_POD_NAMESPACE", p.Namespace},
			{"K8S_POD_NAME", p.PodName},
			{"K8S_POD_INFRA_CONTAINER_ID", p.ContainerID},
		},
	}, nil
}

// nodePlugins runs CNI plugins in a Node's namespaces (libcni's invoke.Exec).
type nodePlugins struct{ node *Node }

func (e nodePlugins) FindInPath(plugin string, paths []string) (string, error) {
	for _, dir := range paths {
		path := filepath.Join(dir, plugin)
		if e.node.Do(func() error { _, err := os.Stat(path); return err }) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("CNI plugin %q is not in %q of %s (is it built?)", plugin, paths, e.node.Name)
}

func (e nodePlugins) ExecPlugin(ctx context.Context, path string, stdin []byte, env []string) ([]byte, error) {
	process, err := e.node.run(ctx, invocation{args: []string{path}, env: env, stdin: bytes.NewReader(stdin)})
	var exit *ExitError
	if errors.As(err, &exit) {
		var pluginErr types.Error
		if json.Unmarshal([]byte(exit.Stdout), &pluginErr) == nil && pluginErr.Msg != "" {
			return nil, &pluginErr
		}
	}
	if err != nil {
		return nil, err
	}
	return []byte(process.Stdout()), nil
}

func (e nodePlugins) Decode(data []byte) (version.PluginInfo, error) {
	return (&version.PluginDecoder{}).Decode(data)
}
