// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// usePrivateLock isolates the lock of the legacy backend, which does not know namespaces, from the rest of the machine.
func usePrivateLock(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "xtables.lock")
	t.Setenv("XTABLES_LOCKFILE", path)
	return path
}

// kubeProxy changes its chains continuously, like kube-proxy, until stop closes. It returns the rules that it has left.
func kubeProxy(stop <-chan struct{}) (want []string, err error) {
	restore := func(input string) error {
		cmd := exec.Command("iptables-restore", "--noflush", "--counters", "-w", "60", "-W", "1000")
		cmd.Stdin = strings.NewReader(input)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kube-proxy: %w: %s", err, out)
		}
		return nil
	}
	for _, j := range []struct{ table, chain, rule string }{
		{"filter", "FORWARD", "KUBE-FORWARD"}, {"nat", "POSTROUTING", "KUBE-POSTROUTING"}, {"filter", "INPUT", "KUBE-INPUT"},
	} {
		if err := restore(fmt.Sprintf("*%s\n:%s - [0:0]\n-I %s 1 -j %s\nCOMMIT\n", j.table, j.rule, j.chain, j.rule)); err != nil {
			return nil, err
		}
	}
	for i := 0; ; i++ {
		select {
		case <-stop:
			return []string{fmt.Sprintf(":KUBE-SVC-%d -", i-1), fmt.Sprintf("-A KUBE-SVC-%d -s 10.96.0.%d/32 -j ACCEPT", i-1, (i-1)%256),
				fmt.Sprintf("-A KUBE-FORWARD -j KUBE-SVC-%d", i-1), "-A FORWARD -j KUBE-FORWARD", "-A POSTROUTING -j KUBE-POSTROUTING",
				"-A INPUT -j KUBE-INPUT", fmt.Sprintf("-A KUBE-POSTROUTING -s 10.96.1.%d/32 -j ACCEPT", (i-1)%256)}, nil
		default:
		}
		before := ""
		if i > 0 {
			before = fmt.Sprintf(":KUBE-SVC-%d - [0:0]\n-X KUBE-SVC-%d\n", i-1, i-1)
		}
		err := restore(fmt.Sprintf("*filter\n:KUBE-FORWARD - [0:0]\n:KUBE-SVC-%d - [0:0]\n%s-A KUBE-SVC-%d -s 10.96.0.%d/32 -j ACCEPT\n-A KUBE-FORWARD -j KUBE-SVC-%d\nCOMMIT\n",
			i, before, i, i%256, i) +
			fmt.Sprintf("*nat\n:KUBE-POSTROUTING - [0:0]\n-A KUBE-POSTROUTING -s 10.96.1.%d/32 -j ACCEPT\nCOMMIT\n", i%256))
		if err != nil {
			return nil, err
		}
	}
}

// kube-proxy changes its rules all the time, and others flush ours. Ours are restored and no rule of theirs is lost.
func TestBesideBusyKubeProxy(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			usePrivateLock(t)
			ns := newNetNS(t)
			newGateway(t)
			run(t, "ip", "route", "add", "198.51.102.0/24", "dev", "pipeline")
			c := newTestClient(t, Options{})
			require.NoError(t, c.Initialize())
			routes := map[string]string{"10.10.0.0/24": "connected"}
			for i := range 20 {
				cidr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 10, byte(1 + i), 0}), 24)
				require.NoError(t, c.AddRoutes(cidr, fmt.Sprint("node", i), byTunnel, cidr.Addr().Next()))
				routes[cidr.String()] = cidr.Addr().Next().String() + " onlink"
			}
			ours := func() (rules []string) {
				for _, line := range savedRules(t) {
					if strings.Contains(line, "ANTREA-") {
						rules = append(rules, line)
					}
				}
				return rules
			}
			want := ours()

			type result struct {
				want []string
				err  error
			}
			stop, done := make(chan struct{}), make(chan result, 1)
			inNetNS(ns, func() {
				left, err := kubeProxy(stop)
				done <- result{left, err}
			})
			for round := range 6 {
				switch round % 3 {
				case 0:
					run(t, "iptables", "-w", "60", "-F", "ANTREA-FORWARD")
					run(t, "iptables", "-w", "60", "-t", "raw", "-F")
				case 1:
					run(t, "iptables", "-w", "60", "-t", "nat", "-D", "POSTROUTING", "-j", "ANTREA-POSTROUTING")
					run(t, "ip", "route", "flush", "dev", "antrea-gw0", "proto", "boot")
					run(t, "ip", "route", "flush", "10.10.3.0/24")
				case 2:
					run(t, "ip", "route", "replace", "10.10.2.0/24", "via", "10.10.0.77", "dev", "antrea-gw0")
					require.NoError(t, familyIPv4.podSet().remove(peerCIDR))
				}
				require.NoError(t, c.sync(t.Context()))
				require.ElementsMatch(t, want, ours())
				require.Equal(t, routes, gatewayRoutes(t))
				require.Len(t, setEntries(t), 21)
			}
			close(stop)
			theirs := <-done
			require.NoError(t, theirs.err)
			saved := savedRules(t)
			for _, line := range theirs.want {
				require.Contains(t, saved, line)
			}
			require.Len(t, slices.DeleteFunc(saved, func(line string) bool { return !strings.HasPrefix(line, ":KUBE-SVC-") }), 1)
			require.Contains(t, run(t, "ip", "route"), "198.51.102.0/24")
		})
	}
}

// The client waits for a lock of another program only for a bounded time. Meanwhile it repairs everything that does not
// need the lock.
func TestLockIsKept(t *testing.T) {
	useBackend(t, "legacy")
	path := usePrivateLock(t)
	newNetNS(t)
	newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
	c.stacks[0].firewall.lockWait = 1
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	run(t, "ip", "route", "del", "10.10.1.0/24")

	begin := time.Now()
	require.ErrorContains(t, c.sync(t.Context()), "lock")
	require.Less(t, time.Since(begin), commandTimeout)
	require.Equal(t, "10.10.1.1 onlink", gatewayRoutes(t)["10.10.1.0/24"])

	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_UN))
	require.NoError(t, c.sync(t.Context()))
}

func TestRetryBusy(t *testing.T) {
	exit := func(code int) error {
		return fmt.Errorf("run: %w", exec.Command("sh", "-c", fmt.Sprintf("exit %d", code)).Run())
	}
	for name, tc := range map[string]struct {
		results []error
		runs    int
		fails   bool
	}{
		"at once":        {[]error{nil}, 1, false},
		"busy":           {[]error{exit(4), exit(4), nil}, 3, false},
		"busy for long":  {[]error{exit(4), exit(4), exit(4), exit(4), nil}, maxAttempts, true},
		"refused":        {[]error{exit(2), nil}, 1, true},
		"never executed": {[]error{errors.New("not found"), nil}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			err := retryBusy(func() error {
				runs++
				return tc.results[runs-1]
			})
			require.Equal(t, tc.runs, runs)
			require.Equal(t, tc.fails, err != nil)
		})
	}
}

// An address that the kernel refuses delays neither the other addresses of its Node nor the addresses of other Nodes.
func TestStrangeAddressHoldsUpNobody(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	nodeSet := func() (texts []string) {
		entries, err := familyIPv4.nodeSet().entries()
		require.NoError(t, err)
		for _, e := range entries {
			texts = append(texts, e.Addr().String())
		}
		return texts
	}
	full := func(elements uint32) {
		run(t, "iptables", "-t", "raw", "-F")
		run(t, "iptables", "-t", "mangle", "-F")
		run(t, "iptables", "-t", "filter", "-F")
		require.NoError(t, netlink.IpsetDestroy("ANTREA-NODE-IP"))
		require.NoError(t, netlink.IpsetCreate("ANTREA-NODE-IP", typeNetworks, netlink.IpsetCreateOptions{Family: unix.AF_INET, MaxElements: elements}))
	}
	full(2)
	addresses := func(texts ...string) (all []netip.Addr) {
		for _, text := range texts {
			all = append(all, netip.MustParseAddr(text))
		}
		return all
	}
	require.NoError(t, c.SetNodeAddresses("node2", addresses("192.0.2.2")))
	require.Error(t, c.SetNodeAddresses("node3", addresses("192.0.2.3", "192.0.2.33")))
	require.Equal(t, []string{"192.0.2.2", "192.0.2.3"}, nodeSet())
	require.NoError(t, c.SetNodeAddresses("node4", addresses("192.0.2.2")), "two Nodes have one address")
	require.NoError(t, c.SetNodeAddresses("node2", nil))
	require.Equal(t, []string{"192.0.2.2", "192.0.2.3"}, nodeSet())
	require.NoError(t, c.SetNodeAddresses("node4", nil))
	require.Equal(t, []string{"192.0.2.3"}, nodeSet())
	require.NoError(t, c.SetNodeAddresses("node3", addresses("192.0.2.3", "192.0.2.33")), "it is repeated")
	require.Equal(t, []string{"192.0.2.3", "192.0.2.33"}, nodeSet())
	require.NoError(t, c.SetNodeAddresses("node3", nil))
	require.Empty(t, nodeSet())
	require.Empty(t, c.stacks[0].nodes.holders)
}
