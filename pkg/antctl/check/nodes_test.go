// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/antctl/nodefacts"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
	"github.com/antrea-oncache/antrea/pkg/uplink"
)

// factsOf returns facts with which nothing is wrong, changed by edit.
func factsOf(edit func(*nodefacts.Facts)) *nodefacts.Facts {
	f := &nodefacts.Facts{Uplink: &uplink.Facts{}, Kernel: "6.1.0", BPFFS: true, Modules: map[string]nodefacts.Module{}, TCP: []uint16{22, 10250}, UDP: []uint16{53}}
	for _, module := range nodefacts.Modules {
		f.Modules[module] = nodefacts.Present
	}
	if edit != nil {
		edit(f)
	}
	return f
}

func TestJudge(t *testing.T) {
	without := func(modules ...string) func(*nodefacts.Facts) {
		return func(f *nodefacts.Facts) {
			for _, module := range modules {
				f.Modules[module] = nodefacts.Missing
			}
		}
	}
	for want, edit := range map[string]func(*nodefacts.Facts){
		"ok       node a           kernel 6.1.0 has all modules;":                               nil,
		"failed   node a           kernel 6.1.0 lacks the modules openvswitch: install":         without("openvswitch"),
		"kernel 6.1.0 lacks the modules geneve, nf_conntrack: install":                          without("geneve", "nf_conntrack"),
		"failed   node a           kernel 6.1.0 lacks the modules geneve, vxlan:":               without("geneve", "vxlan"),
		"warning  node a           kernel 6.1.0 lacks the module geneve: set tunnelType: vxlan": without("geneve"),
		"ok       node a           kernel 6.1.0 has all modules":                                without("vxlan"),
		"warning  node a           whether kernel 6.1.0 has the modules openvswitch, geneve, vxlan, nf_conntrack, ip_set is unknown": func(f *nodefacts.Facts) {
			for _, module := range nodefacts.Modules {
				f.Modules[module] = nodefacts.Unknown
			}
		},
		"warning  node a           no bpffs at /sys/fs/bpf": func(f *nodefacts.Facts) { f.BPFFS = false },
		"failed   node a           /etc/cni/net.d/05-cilium.conflist comes before 10-antrea.conflist": func(f *nodefacts.Facts) {
			f.CNIFiles = []string{"05-cilium.conflist", "10-antrea.conflist", "87-podman.conflist"}
		},
		"failed   node a           an Open vSwitch of its own has the socket /run/openvswitch/db.sock": func(f *nodefacts.Facts) { f.OVS = "/run/openvswitch/db.sock" },
		"warning  node a           TCP port 10350 is in use":                                           func(f *nodefacts.Facts) { f.TCP = append(f.TCP, 10350) },
		"warning  node a           UDP port 6081 is in use":                                            func(f *nodefacts.Facts) { f.UDP = append(f.UDP, 6081) },
	} {
		var out bytes.Buffer
		judge("node a", factsOf(edit), &Report{Out: &out})
		require.Contains(t, out.String(), want)
		require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	}
}

// A Node whose Pod does not start, fails, or prints something else is reported, and the others are looked at.
func TestNodeFiles(t *testing.T) {
	kube := fake.NewClientset(goodNode("a", "", nil), goodNode("b", "", nil), goodNode("broken", "", nil), goodNode("failing", "", nil), goodNode("old", "", nil), goodNode("silent", "", nil),
		goodNode("windows", "", func(n *corev1.Node) { n.Status.NodeInfo.OperatingSystem = "windows" }))
	kube.PrependReactor("create", "namespaces", func(action kubetesting.Action) (bool, runtime.Object, error) {
		namespace := action.(kubetesting.CreateAction).GetObject().(*corev1.Namespace).Name
		return false, nil, kube.Tracker().Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}})
	})
	kube.PrependReactor("create", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		pod := action.(kubetesting.CreateAction).GetObject().(*corev1.Pod)
		pod.Status.Phase = map[string]corev1.PodPhase{"broken": corev1.PodPending, "failing": corev1.PodFailed}[pod.Spec.NodeName]
		if pod.Status.Phase == "" {
			pod.Status.Phase = corev1.PodSucceeded
		}
		return false, nil, nil
	})
	var out bytes.Buffer
	n := &NodeFiles{Kube: kube, Report: &Report{Out: &out}, Image: "agent", Limits: testpods.Limits{Patience: 50 * time.Millisecond, Interval: time.Millisecond}}
	var lock sync.Mutex
	var addresses []string
	n.Logs = func(_ context.Context, pod *corev1.Pod) ([]byte, error) {
		switch pod.Spec.NodeName {
		case "old":
			return []byte(`unknown command "node-facts"`), nil
		case "silent":
			return nil, errors.New("no route")
		}
		return json.Marshal(factsOf(func(f *nodefacts.Facts) {
			*f.Uplink = goodUplink
			if pod.Spec.NodeName == "b" {
				f.Uplink.MTU = 9000
			}
			lock.Lock()
			defer lock.Unlock()
			addresses = append(addresses, pod.Spec.Containers[0].Command[3])
		}))
	}
	require.NoError(t, n.Run(t.Context()))
	lines, others := map[string]string{}, []string(nil)
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if fields[1] != "node" {
			others = append(others, line)
			continue
		}
		require.NotContains(t, lines, fields[2])
		lines[fields[2]] = line
	}
	require.Len(t, lines, 6, "not of Windows: %v", maps.Keys(lines))
	require.Equal(t, []string{"--address=192.168.0.1", "--address=192.168.0.1"}, addresses)
	require.Len(t, others, 3, others)
	require.Contains(t, others[2], "uplinks have different MTUs (1500 on a; 9000 on b)")
	require.Contains(t, lines["a"], "ok ")
	for node, want := range map[string]string{
		"broken": "waiting for Pod facts-broken", "failing": "pod facts-failing has failed", "old": "is agent the agent's image?", "silent": "no route",
	} {
		require.Contains(t, lines[node], "failed")
		require.Contains(t, lines[node], want)
	}
	namespaces, err := kube.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, namespaces.Items)
}
