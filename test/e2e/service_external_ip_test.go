// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// externalPool is a pool for Services in the Nodes' subnet, with these addresses.
type externalPool struct {
	*suite
	objects       dynamic.Interface
	first, second netip.Addr
}

// testServiceExternalIP: clients outside reach Services by addresses of a pool, at the Node that the ring or the Endpoints say, also after that
// Node's agent has died.
func testServiceExternalIP(t *testing.T, s *suite) {
	local, remote := endpointOn{s.neighbor, s.node1}, endpointOn{s.server, s.node2}
	startAnswering(t, s.neighbor.Space, "local")
	startAnswering(t, s.server.Space, "remote")
	p := &externalPool{suite: s, first: netip.MustParseAddr("192.168.77.211"), second: netip.MustParseAddr("192.168.77.212")}
	p.create(t)
	t.Run("Failover", func(t *testing.T) { p.testFailover(t, local, remote) })
	t.Run("PolicyLocal", func(t *testing.T) { p.testLocal(t, local, remote) })
	t.Run("Shared", func(t *testing.T) { p.testShared(t, local, remote) })
}

func (p *externalPool) create(t *testing.T) {
	var err error
	p.objects, err = dynamic.NewForConfig(p.Config)
	require.NoError(t, err)
	pool := crd.New(v1beta1.ExternalIPPoolKind, "services")
	require.NoError(t, crd.Fill(pool, &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{
		IPRanges: []v1beta1.IPRange{{Start: p.first.String(), End: p.second.String()}},
	}}))
	pool.Object["status"] = nil
	_, err = p.objects.Resource(crd.ExternalIPPools).Create(t.Context(), pool, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = p.objects.Resource(crd.ExternalIPPools).Delete(context.Background(), "services", metav1.DeleteOptions{})
	})
}

// service makes a Service that wants an address of the pool, and waits until it has this one; an invalid one is none.
func (p *externalPool) service(t *testing.T, name string, want netip.Addr, change func(*corev1.Service), endpoints ...endpointOn) {
	t.Helper()
	p.createService(t, name, corev1.ProtocolTCP, "", func(s *corev1.Service) {
		s.Annotations = map[string]string{externalip.PoolAnnotation: "services"}
		if change != nil {
			change(s)
		}
	}, endpoints...)
	if want.IsValid() {
		p.eventuallyHas(t, name, want)
	}
}

func (p *externalPool) eventuallyHas(t *testing.T, name string, want netip.Addr) {
	t.Helper()
	eventually(t, fmt.Sprintf("Service %s to have %s", name, want), func() error {
		s, err := p.Client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && externalip.Address(s) != want {
			err = fmt.Errorf("it has %+v", s.Status.LoadBalancer)
		}
		return err
	})
}

// assigned waits until an agent names a Node for a Service.
func (p *externalPool) assigned(t *testing.T, asked *cluster.Node, name, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s to say that Service %s is at %q", asked.Name, name, want), func() error {
		list, err := tryAskAgent[[]apis.ServiceExternalIP](t, asked, "/serviceexternalip?namespace="+namespace+"&name="+name)
		if err != nil {
			return err
		}
		if len(list) != 1 || list[0].AssignedNode != want || list[0].ExternalIPPool != "services" {
			return fmt.Errorf("it says %+v", list)
		}
		return nil
	})
}

// owner returns the Node of an address, and the other Node.
func (p *externalPool) owner(addr netip.Addr) (owner, other *cluster.Node) {
	ring := memberlist.NewRing([]string{p.node1.Name, p.node2.Name})
	if chosen, _ := ring.Owner(addr.String(), func(string) bool { return true }); chosen == p.node2.Name {
		return p.node2, p.node1
	}
	return p.node1, p.node2
}

// reaches waits until the client outside has met the servers.
func (p *externalPool) reaches(t *testing.T, to netip.AddrPort, servers ...string) {
	t.Helper()
	met := map[string]bool{}
	eventually(t, fmt.Sprintf("%s to lead to %v", to, servers), func() error {
		a, err := ask(p.Internet, to)
		if err != nil {
			return err
		}
		require.Contains(t, servers, a.server)
		if met[a.server] = true; len(met) < len(servers) {
			return fmt.Errorf("have %v", met)
		}
		return nil
	})
}

func (p *externalPool) testFailover(t *testing.T, local, remote endpointOn) {
	p.service(t, "external", p.first, nil, local, remote)
	owner, other := p.owner(p.first)
	to := netip.AddrPortFrom(p.first, 80)
	p.reaches(t, to, "local", "remote")
	p.eventuallyAt(t, p.first, owner)
	for _, node := range []*cluster.Node{owner, other} {
		p.assigned(t, node, "external", owner.Name)
		require.NotContains(t, succeeds(t, node.Space, "ip", "-o", "address", "show"), p.first.String(), "no device has it")
	}
	members := askAgent[[]apis.Member](t, other, "/memberlist")
	require.Len(t, members, 2)
	require.Equal(t, "Alive", members[0].Status)
	require.Equal(t, owner.IP.String(), members[map[bool]int{true: 0, false: 1}[owner == p.node1]].IP)

	began := time.Now()
	require.NoError(t, owner.KillAgent())
	p.eventuallyAt(t, p.first, other)
	t.Logf("%s is at %s %s after the death of %s's agent", p.first, other.Name, time.Since(began).Round(10*time.Millisecond), owner.Name)
	p.reaches(t, to, "local", "remote")
	p.assigned(t, other, "external", other.Name)
	(&egressPool{suite: p.suite}).back(t, owner)
	p.eventuallyAt(t, p.first, owner)
	p.assigned(t, other, "external", owner.Name)

	began = time.Now()
	require.NoError(t, owner.StopAgent())
	p.eventuallyAt(t, p.first, other)
	t.Logf("%s is at %s %s after the end of %s's agent", p.first, other.Name, time.Since(began).Round(10*time.Millisecond), owner.Name)
	(&egressPool{suite: p.suite}).back(t, owner)
	p.eventuallyAt(t, p.first, owner)
	p.reaches(t, to, "local", "remote")
}

// testLocal: the Node of the Endpoint has the address, and the Endpoint sees the client.
func (p *externalPool) testLocal(t *testing.T, local, remote endpointOn) {
	p.service(t, "bound", p.second, func(s *corev1.Service) {
		s.Spec.LoadBalancerIP, s.Spec.ExternalTrafficPolicy = p.second.String(), corev1.ServiceExternalTrafficPolicyLocal
	})
	p.assigned(t, p.node1, "bound", "")
	to := netip.AddrPortFrom(p.second, 80)
	for _, endpoint := range []struct {
		endpointOn
		name string
	}{{remote, "remote"}, {local, "local"}} {
		p.setEndpoints(t, "bound", corev1.ProtocolTCP, endpoint.endpointOn)
		p.assigned(t, p.node1, "bound", endpoint.node.Name)
		p.assigned(t, p.node2, "bound", endpoint.node.Name)
		everyServer(t, "the Endpoint on "+endpoint.node.Name, p.Internet, to, map[string]netip.Addr{endpoint.name: cluster.InternetAddress})
		p.eventuallyAt(t, p.second, endpoint.node)
	}
}

// testShared: two Services share an address, a third one gets none and an Event says why, and the address is free when both are gone.
func (p *externalPool) testShared(t *testing.T, local, remote endpointOn) {
	share := func(port int32) func(*corev1.Service) {
		return func(s *corev1.Service) {
			s.Annotations[externalip.ShareAnnotation] = "true"
			s.Spec.LoadBalancerIP, s.Spec.Ports[0].Port = p.first.String(), port
		}
	}
	eventually(t, "the address to be free", func() error { return p.used(t, 0) })
	p.service(t, "one", p.first, share(81), local)
	p.service(t, "two", p.first, share(82), remote)
	p.reaches(t, netip.AddrPortFrom(p.first, 81), "local")
	p.reaches(t, netip.AddrPortFrom(p.first, 82), "remote")
	require.NoError(t, p.used(t, 1))
	p.service(t, "three", netip.Addr{}, func(s *corev1.Service) { s.Spec.LoadBalancerIP = p.first.String() }, local)
	eventually(t, "an Event", func() error {
		list, err := p.Client.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Regarding.Name == "three" && event.Reason == "AllocationError" && strings.Contains(event.Note, "is allocated to Service "+namespace+"/one") {
				return nil
			}
		}
		return errors.New("there is none")
	})
	for _, name := range []string{"one", "two"} {
		require.NoError(t, p.Client.CoreV1().Services(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	p.eventuallyHas(t, "three", p.first)
	p.reaches(t, netip.AddrPortFrom(p.first, 80), "local")
}

// used compares the pool's usage.
func (p *externalPool) used(t *testing.T, want int64) error {
	object, err := p.objects.Resource(crd.ExternalIPPools).Get(t.Context(), "services", metav1.GetOptions{})
	require.NoError(t, err)
	pool, err := crd.Read[v1beta1.ExternalIPPool](object)
	require.NoError(t, err)
	if usage := pool.Status.Usage; usage.Total != 2 || usage.Used != want {
		return fmt.Errorf("the usage is %+v, want %d of 2", usage, want)
	}
	return nil
}
