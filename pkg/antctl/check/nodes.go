// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/antctl/nodefacts"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
	"github.com/antrea-oncache/antrea/pkg/apis"
)

const (
	// nodeFiles is the directory of the Node's files in a Pod.
	nodeFiles = "/host"
	// cniFile is the agent's file in /etc/cni/net.d.
	cniFile = "10-antrea.conflist"
	// genevePort is the tunnel's default port (RFC 8926).
	genevePort = 6081
	// podsAtOnce is the number of Pods that run at the same time.
	podsAtOnce = 20
)

// NodeFiles looks at the Nodes themselves, by a Pod on each.
type NodeFiles struct {
	Kube   kubernetes.Interface
	Report *Report
	// Image has antctl: the agent's image.
	Image string
	testpods.Limits
	// Logs returns the output of a Pod.
	Logs func(ctx context.Context, pod *corev1.Pod) ([]byte, error)
	mtus mtus
}

// Run does the checks, of some Nodes at the same time. An error means that they could not be done.
func (n *NodeFiles) Run(ctx context.Context) (err error) {
	nodes, err := n.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the Nodes: %w", err)
	}
	// The Pods are on the Nodes' network and see their files, which some clusters refuse otherwise.
	namespace, err := testpods.New(ctx, n.Kube, map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}, n.Limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, namespace.Delete(ctx)) }()
	if err := namespace.WaitForServiceAccount(ctx); err != nil {
		return err
	}
	linux := slices.DeleteFunc(nodes.Items, func(node corev1.Node) bool {
		system := node.Status.NodeInfo.OperatingSystem
		return system != "" && system != "linux"
	})
	for some := range slices.Chunk(linux, podsAtOnce) {
		n.some(ctx, namespace, some)
	}
	n.mtus.judge(n.Report)
	return nil
}

// internalAddress is the address that the agent takes for the tunnel.
func internalAddress(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

func (n *NodeFiles) some(ctx context.Context, namespace *testpods.Namespace, nodes []corev1.Node) {
	type answer struct {
		facts *nodefacts.Facts
		err   error
	}
	answers := make([]chan answer, len(nodes))
	for i, node := range nodes {
		answers[i] = make(chan answer, 1)
		go func() {
			facts, err := n.facts(ctx, namespace, &node)
			answers[i] <- answer{facts, err}
		}()
	}
	for i, node := range nodes {
		if a := <-answers[i]; a.err != nil {
			n.Report.Fail("node "+node.Name, "not looked at: %v", a.err)
		} else {
			judge("node "+node.Name, a.facts, n.Report)
			judgeUplink("uplink of "+node.Name, a.facts, n.Report)
			n.mtus.add(node.Name, a.facts.Uplink)
		}
	}
}

// facts asks a Pod on a Node.
func (n *NodeFiles) facts(ctx context.Context, namespace *testpods.Namespace, node *corev1.Node) (*nodefacts.Facts, error) {
	no := false
	pod := namespace.Pod("facts-"+node.Name, node.Name, corev1.Container{
		Name: "antctl", Image: n.Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: nodefacts.Command(nodeFiles, internalAddress(node)),
		VolumeMounts: []corev1.VolumeMount{{Name: "host", MountPath: nodeFiles, ReadOnly: true}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	})
	pod.Spec.HostNetwork = true
	pod.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	ended, err := namespace.Start(ctx, pod, hasEnded)
	if err != nil {
		return nil, err
	}
	if ended.Status.Phase != corev1.PodSucceeded {
		return nil, fmt.Errorf("pod %s has failed: %s", ended.Name, testpods.Output(ended))
	}
	text, err := n.Logs(ctx, ended)
	if err != nil {
		return nil, fmt.Errorf("reading the output of Pod %s: %w", ended.Name, err)
	}
	facts := &nodefacts.Facts{}
	if err := json.Unmarshal(text, facts); err != nil {
		return nil, fmt.Errorf("decoding the output of Pod %s, %q (is %s the agent's image?): %w", ended.Name, text, n.Image, err)
	}
	return facts, nil
}

// judge reports whether a Node has what Antrea needs.
func judge(check string, f *nodefacts.Facts, r *Report) {
	before := r.failed + r.warnings
	judgeModules(check, f, r)
	if !f.BPFFS {
		r.Warn(check, "no bpffs at /sys/fs/bpf, which the fast path (gate ONCache) needs: mount -t bpf bpf /sys/fs/bpf")
	}
	for _, file := range f.CNIFiles {
		if file < cniFile {
			r.Fail(check, "/etc/cni/net.d/%s comes before %s, so Pods would get another plugin's network: remove it", file, cniFile)
		}
	}
	if f.OVS != "" {
		r.Fail(check, "an Open vSwitch of its own has the socket %s, and both would use the same datapath: stop and disable it", f.OVS)
	}
	for port, setting := range map[uint16]string{apis.AgentPort: "agent.apiPort", apis.ControllerPort: "controller.apiPort"} {
		if slices.Contains(f.TCP, port) {
			r.Warn(check, "TCP port %d is in use: by an Antrea that is installed, or choose another one with %s", port, setting)
		}
	}
	if slices.Contains(f.UDP, genevePort) {
		r.Warn(check, "UDP port %d is in use: by an Antrea that is installed, or choose another one with tunnelPort", genevePort)
	}
	if r.failed+r.warnings == before {
		r.OK(check, "kernel %s has all modules; bpffs, CNI configuration and ports are as Antrea needs them", f.Kernel)
	}
}

func judgeModules(check string, f *nodefacts.Facts, r *Report) {
	if f.Modules["openvswitch"] == nodefacts.Unknown {
		r.Warn(check, "whether kernel %s has the modules %s is unknown: there is no list of them in /lib/modules/%[1]s", f.Kernel, strings.Join(nodefacts.Modules, ", "))
		return
	}
	tunnels := []string{"geneve", "vxlan"}
	missing := slices.DeleteFunc(slices.Clone(nodefacts.Modules), func(name string) bool { return f.Modules[name] != nodefacts.Missing })
	needed := slices.DeleteFunc(slices.Clone(missing), func(name string) bool { return slices.Contains(tunnels, name) })
	noTunnel := len(missing) - len(needed)
	switch {
	case len(needed) > 0 || noTunnel == len(tunnels):
		r.Fail(check, "kernel %s lacks the modules %s: install the distribution's package of further modules, or another kernel", f.Kernel, strings.Join(missing, ", "))
	case noTunnel == 1 && missing[0] == tunnels[0]:
		r.Warn(check, "kernel %s lacks the module geneve: set tunnelType: vxlan", f.Kernel)
	}
}
