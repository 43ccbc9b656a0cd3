// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// Paths in the mount namespace of a Node.
const (
	runDir    = "/run/cilium"
	apiSocket = runDir + "/cilium.sock"
	bpffs     = runDir + "/bpffs" // at /sys/fs/bpf it would be the second one, which the agent refuses
	groups    = runDir + "/cgroupv2"
)

// podInterface is the name of the Pod's device in the Pod.
const podInterface = "eth0"

// node is an agent with its Node and Pod.
type node struct {
	NodeOptions
	PodIP netip.Addr

	name, plugin string
	space        *cluster.Space
	agent        *cluster.Process
	counters     *counters
}

// startNode gives a Node its mounts and starts the agent.
func (p *Pair) startNode(i int) (*node, error) {
	n := &node{NodeOptions: p.Nodes[i], name: nodeName(i), plugin: p.plugin}
	n.space = cluster.NewSpace(n.name, n.Host)
	if err := n.mount(); err != nil {
		return nil, err
	}
	if err := p.relayAPI(n.Host); err != nil {
		return nil, err
	}
	library := filepath.Join(p.Dir, n.name)
	if err := os.Mkdir(library, 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(p.bpf(), filepath.Join(library, "bpf")); err != nil {
		return nil, err
	}
	environment := []string{"env", "K8S_NODE_NAME=" + n.name, "PATH=" + p.bin() + ":" + os.Getenv("PATH"), p.agent}
	var err error
	n.agent, err = n.space.Start(append(environment, n.agentOptions(p.kubeconfig(), library)...)...)
	return n, err
}

// mount gives a Node a mount namespace with a bpffs, a sysfs that shows its devices, an empty /run, and its Pod's
// control group where the agent looks for the machine's. The agent can change no settings in /proc/sys/kernel, which
// belong to the whole machine: one that it wants (unprivileged_bpf_disabled) could not be changed back.
func (n *node) mount() error {
	if err := n.Host.Do(func() error { return unix.Unshare(unix.CLONE_NEWNS) }); err != nil {
		return fmt.Errorf("%s: new mount namespace: %w", n.name, err)
	}
	return nodepair.Run(n.Host, strings.NewReplacer("BPFFS", bpffs, "GROUPS", groups, "GROUP", n.Group).Replace(`
		mount -t sysfs sysfs /sys
		mount -t tmpfs tmpfs /run
		mkdir -p BPFFS GROUPS
		mount -t bpf bpf BPFFS
		mount --bind GROUP GROUPS
		mount --bind /proc/sys/kernel /proc/sys/kernel
		mount -o remount,bind,ro /proc/sys/kernel`))
}

// agentOptions are the agent's options: what differs from those that Cilium's chart sets is which Kubernetes it uses and where its files
// are, and that it does not masquerade, has no Hubble, no proxy and no health checks, and writes no configuration for the kubelet.
func (n *node) agentOptions(kubeconfig, library string) []string {
	return []string{
		"--k8s-kubeconfig-path=" + kubeconfig, "--lib-dir=" + library, "--state-dir=" + runDir, "--socket-path=" + apiSocket,
		"--bpf-root=" + bpffs, "--cgroup-root=" + groups, "--devices=" + n.Device, "--direct-routing-device=" + n.Device,
		"--enable-ipv4=true", "--enable-ipv6=false", "--ipam=kubernetes", "--identity-allocation-mode=crd",
		"--routing-mode=tunnel", "--tunnel-protocol=vxlan", "--kube-proxy-replacement=true",
		"--monitor-aggregation=medium", "--monitor-aggregation-interval=5s", "--monitor-aggregation-flags=all", "--bpf-map-dynamic-size-ratio=0.0025",
		"--enable-ipv4-masquerade=false", "--enable-hubble=false", "--enable-l7-proxy=false",
		"--enable-health-checking=false", "--enable-endpoint-health-checking=false", "--cni-exclusive=false",
	}
}

// eventually is cluster.Eventually that also gives up when the agent ends. The error has what the agent has said last, unless ctx was
// canceled.
func (n *node) eventually(ctx context.Context, what string, condition func(context.Context) error) error {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-n.agent.Done():
			cancel(fmt.Errorf("cilium-agent has ended with exit code %d", n.agent.ExitCode()))
		case <-running.Done():
		}
	}()
	err := cluster.Eventually(running, what, func() error { return condition(running) })
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	return errors.Join(err, n.failure())
}

// addPod attaches the Pod as the container runtime would, once the agent is ready.
func (n *node) addPod(ctx context.Context) error {
	config := `{"cniVersion": "1.0.0", "name": "cilium", "type": "cilium-cni"}`
	pod := podName + n.name
	call := []string{"env", "CNI_COMMAND=ADD", "CNI_CONTAINERID=" + pod, "CNI_IFNAME=" + podInterface, "CNI_PATH=" + filepath.Dir(n.plugin),
		fmt.Sprintf("CNI_NETNS=/proc/%d/task/%d/ns/net", os.Getpid(), n.Pod.ID()),
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=" + pod,
		"sh", "-c", `printf %s "$1" | "$0"`, n.plugin, config}
	var answer string
	err := n.eventually(ctx, "cilium-cni ADD on "+n.name, func(ctx context.Context) (err error) {
		answer, err = n.space.Exec(ctx, call...)
		return err
	})
	if err != nil {
		return err
	}
	var result current.Result
	if err := json.Unmarshal([]byte(answer), &result); err != nil {
		return fmt.Errorf("result of cilium-cni: %w", err)
	}
	if len(result.IPs) != 1 {
		return fmt.Errorf("cilium-cni has given the Pod %d addresses, want one: %s", len(result.IPs), answer)
	}
	address, ok := netip.AddrFromSlice(result.IPs[0].Address.IP)
	if !ok {
		return fmt.Errorf("cilium-cni has given the Pod the address %v", result.IPs[0])
	}
	n.PodIP = address.Unmap()
	n.counters, err = n.openCounters()
	return err
}

// failure is the agent's last message.
func (n *node) failure() error {
	const most = 40
	lines := strings.Split(strings.TrimSpace(n.agent.Stdout()+n.agent.Stderr()), "\n")
	return fmt.Errorf("cilium-agent on %s: ...\n%s", n.name, strings.Join(lines[max(0, len(lines)-most):], "\n"))
}

func (n *node) close() error {
	var errs []error
	if n.counters != nil {
		errs = append(errs, n.counters.close())
	}
	if n.agent != nil {
		errs = append(errs, n.agent.Stop(stopGrace))
	}
	return errors.Join(errs...)
}
