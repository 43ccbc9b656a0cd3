// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// shippedConflist is the CNI configuration of the manifest.
func shippedConflist(t *testing.T) []byte {
	t.Helper()
	manifest, err := os.ReadFile("../../../build/yamls/antrea.yml")
	require.NoError(t, err)
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		var configMap corev1.ConfigMap
		require.NoError(t, yaml.Unmarshal(document, &configMap))
		if configMap.Name == "antrea-config" {
			return []byte(configMap.Data["antrea-cni.conflist"])
		}
	}
	t.Fatal("the manifest has no ConfigMap antrea-config")
	return nil
}

const (
	// rate and burst of the limited Pod are in bits; amount is sent in each direction, in bytes.
	rate, burst = 16_000_000, 800_000
	amount      = 4_000_000
)

// TestChainedPlugins calls the plugins of the manifest's CNI configuration one after the other, as a container runtime does for a Pod
// with a host port and limits on its bandwidth: the port works, and traffic is limited in both directions. The bridge is a
// device of the test's host network.
func TestChainedPlugins(t *testing.T) {
	h := newReadyHarness(t)
	if _, err := exec.LookPath("iptables"); err != nil {
		t.Skip("needs iptables, which portmap uses")
	}
	h.serve()
	t.Setenv(socketEnv, h.server.cfg.Socket)
	list, err := libcni.ConfListFromBytes(shippedConflist(t))
	require.NoError(t, err)
	cni := libcni.NewCNIConfigWithCacheDir([]string{h.plugins}, t.TempDir(), &invoke.DefaultExec{RawExec: &invoke.RawExec{Stderr: os.Stderr}})
	p := h.newPod("limited")
	runtime := runtimeConfig(p)
	runtime.CapabilityArgs = map[string]any{
		"portMappings": []map[string]any{{"hostPort": 18080, "containerPort": 80, "protocol": "tcp"}},
		"bandwidth":    map[string]any{"ingressRate": rate, "ingressBurst": burst, "egressRate": rate, "egressBurst": burst},
	}
	added, err := cni.AddNetworkList(t.Context(), list, runtime)
	require.NoError(t, err)
	result, err := current.NewResultFromResult(added)
	require.NoError(t, err)

	link, err := netlink.LinkByName(p.hostInterface())
	require.NoError(t, err)
	require.EqualValues(t, rate/8, tbfRate(t, link), "to the Pod")
	gateway, err := netlink.ParseAddr("10.10.1.1/24")
	require.NoError(t, err)
	require.NoError(t, netlink.AddrAdd(link, gateway))
	require.NoError(t, netlink.LinkSetUp(link))

	serveAmounts(t, p.netns)
	address := result.IPs[0].Address.IP.String()
	for name, target := range map[string]string{"to the Pod's address": address + ":80", "to the host port": "10.10.1.1:18080"} {
		begin := time.Now()
		conn, err := net.DialTimeout("tcp", target, 10*time.Second)
		require.NoError(t, err, name)
		require.NoError(t, conn.SetDeadline(begin.Add(time.Minute)))
		_, err = io.CopyN(conn, zeros{}, amount)
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, conn, 1)
		require.NoError(t, err)
		sent := time.Since(begin)
		_, err = io.CopyN(io.Discard, conn, amount-1)
		require.NoError(t, err)
		received := time.Since(begin) - sent
		require.NoError(t, conn.Close())
		t.Logf("%s: %d bytes to the Pod in %v, from it in %v", name, amount, sent, received)
		// Without the limit it takes milliseconds.
		least := time.Duration(float64(amount-burst/8) / (rate / 8) * 0.8 * float64(time.Second))
		require.Greater(t, sent, least, name)
		// The Pod may have begun before this process knows it.
		require.Greater(t, sent+received, 2*least, name)
	}

	require.NoError(t, cni.DelNetworkList(t.Context(), list, runtime))
	h.requireNothing(p)
	links, err := rtnl.Links()
	require.NoError(t, err)
	for _, l := range links {
		require.NotEqual(t, "ifb", l.Type(), "%s is left", l.Attrs().Name)
	}
	rules, err := exec.Command("iptables-save", "-t", "nat").Output()
	require.NoError(t, err)
	require.NotContains(t, string(rules), "18080")
}

// tbfRate is the limit of a device's root qdisc in bytes per second.
func tbfRate(t *testing.T, link netlink.Link) uint64 {
	t.Helper()
	qdiscs, err := netlink.QdiscList(link)
	require.NoError(t, err)
	for _, q := range qdiscs {
		if tbf, ok := q.(*netlink.Tbf); ok {
			return tbf.Rate
		}
	}
	t.Fatalf("%s has no tbf", link.Attrs().Name)
	return 0
}

// serveAmounts accepts connections on port 80 of a network namespace: it takes the amount and then sends the same.
func serveAmounts(t *testing.T, netns string) {
	var listener net.Listener
	inNetNS(t, netns, func() {
		var err error
		listener, err = net.Listen("tcp4", ":80")
		require.NoError(t, err)
	})
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			if _, err := io.CopyN(io.Discard, conn, amount); err == nil {
				_, _ = io.CopyN(conn, zeros{}, amount)
			}
			conn.Close()
		}
	}()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
