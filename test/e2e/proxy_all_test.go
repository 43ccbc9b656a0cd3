// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// withoutKubeProxy lets agents handle all Services.
func withoutKubeProxy(o *cluster.Options) {
	o.AgentConfig = func(node int, conf map[string]any) {
		smallCache(node, conf)
		conf["antreaProxy"] = map[string]any{"proxyAll": true}
	}
}

// TestProxyAllGateOff has Nodes without kube-proxy. The areas of TestProxyAllGateOn are about connections that Services have in common.
func TestProxyAllGateOff(t *testing.T) {
	newSuite(t, "geneve", false, withoutKubeProxy).run(t, area{"ServiceExternalIP", testServiceExternalIP})
}

// TestProxyAllGateOn has Nodes without kube-proxy.
func TestProxyAllGateOn(t *testing.T) {
	s := newSuite(t, "geneve", true, withoutKubeProxy)
	s.run(t,
		area{"ProxyAll", testProxyAll},
		area{"ServiceExternalIP", testServiceExternalIP},
		area{"Connectivity", testConnectivity},
		area{"NodeToPod", testNodeToPod},
		area{"Cleanup", testCleanup}, // last: it leaves no cluster
	)
}

// serverPort is the port of the tests' Endpoints, over TCP and UDP.
const serverPort = 8080

// answer is the answer of an Endpoint: its name, and the client's address as it sees it.
type answer struct {
	server string
	client netip.Addr
}

// startAnswering makes a Pod an Endpoint that says who it is and whom it sees.
func startAnswering(t *testing.T, space *cluster.Space, name string) {
	t.Helper()
	var l net.Listener
	var packets net.PacketConn
	require.NoError(t, space.Do(func() (err error) {
		if l, err = net.Listen("tcp", fmt.Sprintf(":%d", serverPort)); err != nil {
			return err
		}
		packets, err = net.ListenPacket("udp", fmt.Sprintf(":%d", serverPort))
		return err
	}))
	t.Cleanup(func() { _ = l.Close(); _ = packets.Close() })
	text := func(from net.Addr) []byte {
		return fmt.Appendf(nil, "%s %s", name, netip.MustParseAddrPort(from.String()).Addr().Unmap())
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write(text(conn.RemoteAddr()))
			_ = conn.Close()
		}
	}()
	go func() {
		buffer := make([]byte, 64)
		for {
			_, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo(text(from), from)
		}
	}()
}

// ask opens a TCP connection and returns what the Endpoint says.
func ask(space *cluster.Space, to netip.AddrPort) (a answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := space.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return a, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return a, err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return a, err
	}
	return parseAnswer(string(text))
}

func parseAnswer(text string) (a answer, err error) {
	server, client, ok := strings.Cut(text, " ")
	if !ok {
		return a, fmt.Errorf("the Endpoint says %q", text)
	}
	a.server = server
	a.client, err = netip.ParseAddr(client)
	return a, err
}

// everyServer asks until all servers have answered, and requires of each the client's address that it sees.
func everyServer(t *testing.T, what string, space *cluster.Space, to netip.AddrPort, sees map[string]netip.Addr) {
	t.Helper()
	met := map[string]bool{}
	eventually(t, what+": an answer of each of "+fmt.Sprint(sees), func() error {
		a, err := ask(space, to)
		if err != nil {
			return err
		}
		client, ok := sees[a.server]
		if !ok {
			return fmt.Errorf("%q answers, an Endpoint of before", a.server)
		}
		require.Equal(t, client, a.client, "%s: the client's address at %s", what, a.server)
		if met[a.server] = true; len(met) < len(sees) {
			return fmt.Errorf("have %v", met)
		}
		return nil
	})
}

// isRefused requires that a connection is rejected at once, and isDropped that there is no answer.
func isRefused(t *testing.T, what string, space *cluster.Space, to netip.AddrPort) {
	t.Helper()
	eventually(t, what+": rejected", func() error {
		a, err := ask(space, to)
		if errors.Is(err, unix.ECONNREFUSED) {
			return nil
		}
		return fmt.Errorf("answer %+v, error %v", a, err)
	})
}

func isDropped(t *testing.T, what string, space *cluster.Space, to netip.AddrPort) {
	t.Helper()
	a, err := ask(space, to)
	require.True(t, errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, unix.ETIMEDOUT) || isTimeout(err),
		"%s: answer %+v, error %v", what, a, err)
}

// waitForNodePort waits until a Node leads the NodePort of a Service to Open vSwitch: before that, its host refuses connections.
func waitForNodePort(t *testing.T, n *cluster.Node, s *corev1.Service) {
	t.Helper()
	eventually(t, n.Name+" to have the NodePort", func() error {
		if set := succeeds(t, n.Space, "ipset", "list", "ANTREA-NODEPORT-IP"); !strings.Contains(set, fmt.Sprint(s.Spec.Ports[0].NodePort)) {
			return errors.New(set)
		}
		return nil
	})
}

// isLeftToTheHost requires that no server answers. The host's treatment of an address that it does not have depends on
// its routes.
func isLeftToTheHost(t *testing.T, what string, space *cluster.Space, to netip.AddrPort) {
	t.Helper()
	a, err := ask(space, to)
	require.Error(t, err, "%s: answer %+v", what, a)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// endpointOn is an Endpoint of a Service: a Pod and its Node.
type endpointOn struct {
	pod  *cluster.Pod
	node *cluster.Node
}

// createService makes a Service of type LoadBalancer with an address of a load balancer, and its Endpoints.
func (s *suite) createService(t *testing.T, name string, protocol corev1.Protocol, address string, change func(*corev1.Service), endpoints ...endpointOn) *corev1.Service {
	t.Helper()
	services := s.Client.CoreV1().Services(namespace)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80, Protocol: protocol}}}}
	if change != nil {
		change(service)
	}
	made, err := services.Create(t.Context(), service, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = services.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	s.setEndpoints(t, name, protocol, endpoints...)
	if address != "" {
		made.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
		made, err = services.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	return made
}

// setEndpoints replaces the Endpoints of a Service.
func (s *suite) setEndpoints(t *testing.T, name string, protocol corev1.Protocol, endpoints ...endpointOn) {
	t.Helper()
	var all []endpoint
	for _, e := range endpoints {
		all = append(all, endpoint{e.pod.IP, e.node})
	}
	s.publish(t, name, []servicePort{{protocol, 80, serverPort}}, all...)
}

func clusterAddress(s *corev1.Service) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(s.Spec.ClusterIP), uint16(s.Spec.Ports[0].Port))
}

func nodePortAt(n *cluster.Node, s *corev1.Service) netip.AddrPort {
	return netip.AddrPortFrom(n.IP, uint16(s.Spec.Ports[0].NodePort))
}

func gatewayOf(n *cluster.Node) netip.Addr { return n.PodCIDR.Addr().Next() }

// testProxyAll opens connections to Services from everywhere but Pods: the Nodes have nothing else that could translate them.
func testProxyAll(t *testing.T, s *suite) {
	local, remote := endpointOn{s.neighbor, s.node1}, endpointOn{s.server, s.node2}
	startAnswering(t, s.neighbor.Space, "local")
	startAnswering(t, s.server.Space, "remote")
	t.Run("PolicyCluster", func(t *testing.T) { testPolicyCluster(t, s, local, remote) })
	t.Run("PolicyLocal", func(t *testing.T) { testPolicyLocal(t, s, remote) })
	t.Run("SourceRanges", func(t *testing.T) { testSourceRanges(t, s, local) })
	t.Run("Affinity", func(t *testing.T) { testAffinityOfTheNode(t, s, local, remote) })
	t.Run("NoEndpoint", func(t *testing.T) { testNoEndpoint(t, s) })
	t.Run("UDP", func(t *testing.T) { testUDPNodePort(t, s, local, remote) })
	t.Run("HostNetwork", func(t *testing.T) { testHostNetworkEndpoint(t, s) })
}

// routeToNode leads an address of a load balancer to a Node, as the load balancer would.
func (s *suite) routeToNode(t *testing.T, address string, n *cluster.Node) netip.AddrPort {
	t.Helper()
	succeeds(t, s.Fabric, "ip", "route", "replace", address, "via", n.IP.String())
	t.Cleanup(func() { _, _ = s.Fabric.Exec(context.Background(), "ip", "route", "del", address) })
	return netip.AddrPortFrom(netip.MustParseAddr(address), 80)
}

// translatedBy returns the source that a Node gives to connections to an Endpoint on another Node: as they are, they leave with the Node's address.
func (s *suite) translatedBy(n *cluster.Node) netip.Addr {
	if s.mode != "" && s.mode != wireGuardMode {
		return n.IP
	}
	return gatewayOf(n)
}

func testPolicyCluster(t *testing.T, s *suite, local, remote endpointOn) {
	balancer := s.routeToNode(t, "198.51.100.10", s.node1)
	web := s.createService(t, "web", corev1.ProtocolTCP, "198.51.100.10", nil, local, remote)
	outside, gateway, toRemote := cluster.InternetAddress, gatewayOf(s.node1), s.translatedBy(s.node1)
	fromOutside := map[string]netip.Addr{"local": outside, "remote": toRemote}
	fromNode := map[string]netip.Addr{"local": gateway, "remote": toRemote}
	everyServer(t, "from outside, NodePort", s.Internet, nodePortAt(s.node1, web), fromOutside)
	everyServer(t, "from outside, load balancer", s.Internet, balancer, fromOutside)
	everyServer(t, "from the Node, cluster IP", s.node1.Space, clusterAddress(web), fromNode)
	everyServer(t, "from the Node, its NodePort", s.node1.Space, nodePortAt(s.node1, web), fromNode)
	everyServer(t, "from the Node, load balancer", s.node1.Space, balancer, fromNode)
	everyServer(t, "from the Node, NodePort of the other Node", s.node1.Space, nodePortAt(s.node2, web),
		map[string]netip.Addr{"local": s.translatedBy(s.node2), "remote": s.node1.IP})
	everyServer(t, "from a Pod, NodePort of its Node", s.client.Space, nodePortAt(s.node1, web), map[string]netip.Addr{"local": s.client.IP, "remote": s.client.IP})
	everyServer(t, "from a Pod, NodePort of the other Node", s.client.Space, nodePortAt(s.node2, web),
		map[string]netip.Addr{"local": s.translatedBy(s.node2), "remote": s.node1.IP})

	isLeftToTheHost(t, "from outside, another port of the load balancer", s.Internet, netip.AddrPortFrom(balancer.Addr(), 81))
	isDropped(t, "from the Node, another port of the cluster IP", s.node1.Space, netip.AddrPortFrom(clusterAddress(web).Addr(), 81))

	require.NoError(t, s.Client.CoreV1().Services(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	eventually(t, "the NodePort to be closed", func() error {
		if set := succeeds(t, s.node1.Space, "ipset", "list", "ANTREA-NODEPORT-IP"); strings.Contains(set, fmt.Sprint(web.Spec.Ports[0].NodePort)) {
			return errors.New(set)
		}
		return nil
	})
	require.NotContains(t, succeeds(t, s.node1.Space, "ip", "route"), "198.51.100.10")
}

func testPolicyLocal(t *testing.T, s *suite, remote endpointOn) {
	web := s.createService(t, "local", corev1.ProtocolTCP, "", func(s *corev1.Service) {
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}, remote)
	everyServer(t, "from outside, where the Endpoint is", s.Internet, nodePortAt(s.node2, web), map[string]netip.Addr{"remote": cluster.InternetAddress})
	waitForNodePort(t, s.node1, web)
	// Until the Node knows the Endpoint, connections are rejected.
	everyServer(t, "from the Node without Endpoint", s.node1.Space, nodePortAt(s.node1, web), map[string]netip.Addr{"remote": s.translatedBy(s.node1)})
	isDropped(t, "from outside, where no Endpoint is", s.Internet, nodePortAt(s.node1, web))
	require.NotZero(t, web.Spec.HealthCheckNodePort)
	health := func(status, endpoints int) string {
		return fmt.Sprintf("%d {\n\t\"service\": {\n\t\t\"namespace\": \"e2e\",\n\t\t\"name\": \"local\"\n\t},\n\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": true\n}",
			status, endpoints)
	}
	for node, want := range map[*cluster.Node]string{s.node1: health(503, 0), s.node2: health(200, 1)} {
		url := fmt.Sprintf("http://%s/", netip.AddrPortFrom(node.IP, uint16(web.Spec.HealthCheckNodePort)))
		eventually(t, "the health check of "+node.Name, func() error { return requireAnswer(s.Internet, url, want) })
		require.NoError(t, requireAnswer(s.Internet, fmt.Sprintf("http://%s:10256/healthz", node.IP), "200 "))
	}
}

// requireAnswer compares the beginning of an HTTP answer, status and body.
func requireAnswer(space *cluster.Space, url, want string) error {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: space.DialContext, DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if have := fmt.Sprintf("%d %s", response.StatusCode, body); err == nil && !strings.HasPrefix(have, want) {
		return fmt.Errorf("%s answers %s, want %s", url, have, want)
	}
	return err
}

func testSourceRanges(t *testing.T, s *suite, local endpointOn) {
	balancer := s.routeToNode(t, "198.51.100.11", s.node1)
	s.createService(t, "ranges", corev1.ProtocolTCP, "198.51.100.11", func(s *corev1.Service) {
		s.Spec.LoadBalancerSourceRanges = []string{cluster.InternetAddress.String() + "/32"}
	}, local)
	everyServer(t, "a client in the range", s.Internet, balancer, map[string]netip.Addr{"local": cluster.InternetAddress})
	isDropped(t, "a client outside the range", s.Fabric, balancer)
}

// The Node keeps its Endpoint once the datapath follows the flow that the first connection has taught.
func testAffinityOfTheNode(t *testing.T, s *suite, local, remote endpointOn) {
	web := s.createService(t, "affinity", corev1.ProtocolTCP, "", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, local, remote)
	const connections = 10
	eventually(t, "one Endpoint for all connections", func() error {
		met := map[string]int{}
		for range connections {
			a, err := ask(s.node1.Space, clusterAddress(web))
			if err != nil {
				return err
			}
			met[a.server]++
		}
		if len(met) > 1 {
			return fmt.Errorf("have %v", met)
		}
		return nil
	})
}

func testNoEndpoint(t *testing.T, s *suite) {
	web := s.createService(t, "none", corev1.ProtocolTCP, "", nil)
	isRefused(t, "from outside", s.Internet, nodePortAt(s.node1, web))
	isRefused(t, "from the Node, cluster IP", s.node1.Space, clusterAddress(web))
	isRefused(t, "from the Node, NodePort", s.node1.Space, nodePortAt(s.node1, web))
}

// A UDP client that continues to send gets another Endpoint when its own has gone.
func testUDPNodePort(t *testing.T, s *suite, local, remote endpointOn) {
	dns := s.createService(t, "udp", corev1.ProtocolUDP, "", nil, local)
	var conn net.Conn
	require.NoError(t, s.Internet.Do(func() (err error) {
		conn, err = net.Dial("udp4", nodePortAt(s.node1, dns).String())
		return err
	}))
	defer conn.Close()
	answers := func(server string) {
		t.Helper()
		eventually(t, "an answer of "+server, func() error {
			if _, err := conn.Write([]byte("?")); err != nil {
				return err
			}
			_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
			buffer := make([]byte, 64)
			n, err := conn.Read(buffer)
			if err != nil {
				return err
			}
			a, err := parseAnswer(string(buffer[:n]))
			if err == nil && a.server != server {
				err = fmt.Errorf("%s answers", a.server)
			}
			return err
		})
	}
	answers("local")
	s.setEndpoints(t, "udp", corev1.ProtocolUDP, remote)
	answers("remote")
	s.setEndpoints(t, "udp", corev1.ProtocolUDP, local)
	answers("local")
}

// Endpoints in the Nodes' network, as the Kubernetes API's: on the client's Node, and on another one.
func testHostNetworkEndpoint(t *testing.T, s *suite) {
	startAnswering(t, s.node1.Space, "node1")
	startAnswering(t, s.node2.Space, "node2")
	host := func(n *cluster.Node) endpointOn { return endpointOn{&cluster.Pod{IP: n.IP}, n} }
	web := s.createService(t, "host", corev1.ProtocolTCP, "", nil, host(s.node1), host(s.node2))
	virtual := netip.MustParseAddr("169.254.0.253")
	sees := map[string]netip.Addr{"node1": virtual, "node2": s.node1.IP}
	everyServer(t, "from the Node", s.node1.Space, clusterAddress(web), sees)
	everyServer(t, "from outside", s.Internet, nodePortAt(s.node1, web), sees)
}
