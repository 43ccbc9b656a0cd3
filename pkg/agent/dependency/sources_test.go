// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"
)

// texts are the results for addresses in a network.
func texts(all []Address) (texts []string) {
	for _, a := range all {
		texts = append(texts, fmt.Sprintf("%s: %s (%s)", netip.AddrPortFrom(a.Addr, a.Port), a.What, a.Service))
	}
	return texts
}

func newTestSources(t *testing.T, resolvConf string) *Sources {
	t.Helper()
	s := NewSources()
	s.ResolvConf = filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(s.ResolvConf, []byte(resolvConf), 0o600))
	return s
}

func TestSources(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread()
	ns, err := netns.New()
	require.NoError(t, err)
	defer ns.Close()
	for _, command := range []string{
		"link set lo up", "link add eth0 type veth peer name peer", "link add antrea-gw0 type veth peer name bridge", "link set eth0 up", "link set antrea-gw0 up",
		"addr add 192.0.2.5/24 dev eth0", "-6 addr add 2001:db8::5/64 dev eth0 nodad", "route add default via 192.0.2.1", "-6 route add default via 2001:db8::1",
		"route add 198.51.100.0/24 nexthop via 192.0.2.2 nexthop via 192.0.2.3", "route add 203.0.113.0/25 via inet6 2001:db8::7 dev eth0",
		"route add 203.0.113.128/25 nexthop via inet6 2001:db8::8 dev eth0 nexthop via 192.0.2.2", "route add 10.0.2.0/24 via 10.0.2.1 dev antrea-gw0 onlink",
	} {
		out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput()
		require.NoError(t, err, "%s: %s", command, out)
	}
	s := newTestSources(t, "search example.org\n# nameserver 192.0.2.99\nnameserver 192.0.2.53\nnameserver fe80::53%eth0\nnameserver x\n")
	s.Gateway = "antrea-gw0"
	s.Servers = []Endpoint{{Host: "192.0.2.250", Port: 6443, What: API, Service: "default/kubernetes"}, {Host: "no.such.host.invalid", Port: 4739, What: "the flow collector"}}
	s.OwnAddresses, s.OwnPorts = []netip.Addr{addr("192.0.2.5")}, map[uint16]string{10250: "the kubelet"}
	s.Read(t.Context())
	want := []string{
		"168.63.129.16:0: the metadata service of clouds (none)",
		"169.254.169.254:0: the metadata service of clouds (none)", "169.254.170.2:0: the metadata service of clouds (none)",
		"169.254.170.23:0: the metadata service of clouds (none)", "192.0.2.1:0: a next hop of the Node ()", "192.0.2.2:0: a next hop of the Node ()",
		"192.0.2.3:0: a next hop of the Node ()", "192.0.2.5:10250: the kubelet (none)", "192.0.2.53:53: a name server of the Node ()",
		"192.0.2.250:6443: the Kubernetes API (default/kubernetes)", "[2001:db8::1]:0: a next hop of the Node ()",
		"[2001:db8::7]:0: a next hop of the Node ()", "[2001:db8::8]:0: a next hop of the Node ()",
		"[fd00:c1::a9fe:a9fe]:0: the metadata service of clouds (none)",
		"[fd00:ec2::23]:0: the metadata service of clouds (none)", "[fd00:ec2::254]:0: the metadata service of clouds (none)",
		"[fd20:ce::254]:0: the metadata service of clouds (none)", "[fe80::53]:53: a name server of the Node ()",
	}
	require.Equal(t, want, texts(s.Addresses()))

	// Sources that can no longer be read keep their last result.
	require.NoError(t, os.Remove(s.ResolvConf))
	require.NoError(t, os.Mkdir(s.ResolvConf, 0o700))
	s.Read(t.Context())
	require.Equal(t, want, texts(s.Addresses()))
}

// The API is also where connections to it have gone, whatever its name resolves to, and the latest ones count.
func TestConnectionsInUse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	s := newTestSources(t, "")
	s.Servers = []Endpoint{{What: API, Service: "default/kubernetes"}}
	client := &http.Client{Transport: s.Wrap(API)(http.DefaultTransport)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan []Address, 100)
	go s.Run(ctx, func(now []Address) { told <- now })
	for range 2 {
		response, err := client.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	peer := netip.MustParseAddrPort(server.Listener.Addr().String())
	want := Address{peer.Addr(), peer.Port(), Server, API, "default/kubernetes"}
	for now := range told {
		if slices.Contains(now, want) {
			break
		}
	}
	for port := range uint16(2 * maxPeers) {
		s.note(API, netip.AddrPortFrom(peer.Addr(), 1000+port))
	}
	require.Len(t, s.peers[API], maxPeers)
	require.NotContains(t, s.Addresses(), want)
}
