// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

const (
	heldName = "server.held.test."
	// heldPattern is a pattern: agents do not ask for its names by themselves before an address expires.
	heldPattern = "*.held.test"
)

// testHeldAnswers: the answers of DNS to a Pod under a rule with names go through Open vSwitch only. The client asks a server over one UDP
// connection, which the cache knows. A policy that drops connections to the name makes the cache forget the answers, and learn none of them; the
// agent has the address, and the rule is in force. After the policy the answers are fast again.
func testHeldAnswers(t *testing.T, s *suite) {
	server := netip.AddrPortFrom(s.server.IP, 53)
	serveName(t, s.server.Space, server)
	asker := askForName(t, s.client.Space, server)
	f := flow{proto: "UDP", client: asker.local(), server: server}
	asker.waitAnswers(t, 100)
	s.waitFastIfGate(t, f)
	sink := netip.AddrPortFrom(s.server.IP, sinkPort)
	requireConnects(t, s.client.Space, sink)

	remove := s.dropName(t, uint16(sinkPort))
	defer remove()
	eventually(t, "the agent to know the address of "+heldName, func() error {
		known, err := tryAntctl[[]apis.FQDNCacheEntry](t, s.node1, "get", "fqdncache", "-d", heldPattern)
		if err == nil && (len(known) != 1 || known[0].IPAddress != s.server.IP.String() || known[0].FQDNName != strings.TrimSuffix(heldName, ".")) {
			err = fmt.Errorf("it knows %+v", known)
		}
		return err
	})
	requireNoConnection(t, s.client.Space, sink)
	requireConnects(t, s.neighbor.Space, sink)
	s.requireSlowAnswers(t, asker, f)

	remove()
	asker.waitAnswers(t, 100)
	s.waitFastIfGate(t, f)
	requireConnects(t, s.client.Space, sink)
	t.Logf("%d questions, %d answers", asker.asked.Load(), asker.answered.Load())
}

// requireSlowAnswers requires that the client's Node has no entry for the answers, while hundreds of them arrive, each through Open vSwitch.
func (s *suite) requireSlowAnswers(t *testing.T, asker *asker, f flow) {
	t.Helper()
	if !s.oncache {
		return
	}
	eventually(t, "the cache to have no entry for answers", func() error {
		e, err := s.entriesOf(t, f, true)
		if err == nil && e.ingress.State == "active" {
			err = fmt.Errorf("it has %+v", e.ingress)
		}
		return err
	})
	before, err := s.entriesOf(t, f, true)
	require.NoError(t, err)
	_, received := s.slowPackets(t, s.node1)
	missed, answered := missedPackets(t, s.node1), asker.answered.Load()
	const count = 300
	asker.waitAnswers(t, count)
	answered = asker.answered.Load() - answered
	after, err := s.entriesOf(t, f, true)
	require.NoError(t, err)
	require.NotEqual(t, "active", after.ingress.State, "%+v", after.ingress)
	require.LessOrEqual(t, after.ingress.Packets, before.ingress.Packets, "an answer was a hit: %+v", after.ingress)
	slow := missedPackets(t, s.node1) - missed
	if !s.isWithin(f) {
		_, all := s.slowPackets(t, s.node1)
		slow = all - received
	}
	// Some of the answers were under way at the first reading.
	require.GreaterOrEqual(t, slow+count/10, answered, "packets through Open vSwitch, answers")
}

// dropName applies a policy that drops the client's connections to a port of the name. remove may be called again.
func (s *suite) dropName(t *testing.T, port uint16) (remove func()) {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config)
	require.NoError(t, err)
	policies := client.Resource(crd.ClusterNetworkPolicies)
	object := crd.New(v1beta1.ClusterNetworkPolicyKind, "held-answers")
	require.NoError(t, crd.Fill(object, &v1beta1.ClusterNetworkPolicy{Spec: v1beta1.ClusterNetworkPolicySpec{
		Tier: "application", Priority: 5, AppliedTo: []v1beta1.AppliedTo{{PodSelector: selector("client")}},
		Egress: []v1beta1.Rule{{
			Action: ptr.To(v1beta1.RuleActionDrop), Name: "no-server", To: []v1beta1.NetworkPolicyPeer{{FQDN: heldPattern}},
			Ports: []v1beta1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(int32(port)))}},
		}},
	}}))
	object.Object["status"] = nil
	_, err = policies.Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	removed := false
	return func() {
		if !removed {
			removed = true
			require.NoError(t, policies.Delete(context.WithoutCancel(t.Context()), "held-answers", metav1.DeleteOptions{}))
		}
	}
}

// serveName answers every question with the server's own address, until the test ends.
func serveName(t *testing.T, space *cluster.Space, at netip.AddrPort) {
	t.Helper()
	var conn net.PacketConn
	require.NoError(t, space.Do(func() (err error) {
		conn, err = net.ListenPacket("udp", at.String())
		return err
	}))
	t.Cleanup(func() { _ = conn.Close() })
	answer := nameMessage(t, true, at.Addr())
	go func() {
		buffer := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if n > 2 {
				_, _ = conn.WriteTo(append(buffer[:2:2], answer[2:]...), from) // with the id of the question
			}
		}
	}()
}

// nameMessage asks for the address of heldName, or answers with addr.
func nameMessage(t *testing.T, response bool, addr netip.Addr) []byte {
	t.Helper()
	name := dnsmessage.MustNewName(heldName)
	kind := dnsmessage.TypeA
	if addr.Is6() {
		kind = dnsmessage.TypeAAAA
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{Response: response})
	require.NoError(t, b.StartQuestions())
	require.NoError(t, b.Question(dnsmessage.Question{Name: name, Type: kind, Class: dnsmessage.ClassINET}))
	if response {
		require.NoError(t, b.StartAnswers())
		header := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 600}
		if addr.Is6() {
			require.NoError(t, b.AAAAResource(header, dnsmessage.AAAAResource{AAAA: addr.As16()}))
		} else {
			require.NoError(t, b.AResource(header, dnsmessage.AResource{A: addr.As4()}))
		}
	}
	message, err := b.Finish()
	require.NoError(t, err)
	return message
}

// asker asks for heldName, over one connection, until the test ends.
type asker struct {
	conn            net.Conn
	asked, answered atomic.Uint64
}

func askForName(t *testing.T, space *cluster.Space, server netip.AddrPort) *asker {
	t.Helper()
	conn, err := space.DialContext(t.Context(), "udp", server.String())
	require.NoError(t, err)
	a := &asker{conn: conn}
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(func() {
		end()
		_ = conn.Close()
	})
	question := nameMessage(t, false, server.Addr())
	go a.ask(ctx, question)
	go a.receive()
	return a
}

func (a *asker) ask(ctx context.Context, question []byte) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			n := a.asked.Add(1)
			_, _ = a.conn.Write(append([]byte{byte(n >> 8), byte(n)}, question[2:]...)) // a refusal while the server is away ends nothing
		}
	}
}

func (a *asker) receive() {
	buffer := make([]byte, 512)
	for {
		_, err := a.conn.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			a.answered.Add(1)
		}
	}
}

func (a *asker) local() netip.AddrPort { return netip.MustParseAddrPort(a.conn.LocalAddr().String()) }

// waitAnswers waits for more answers.
func (a *asker) waitAnswers(t *testing.T, more uint64) {
	t.Helper()
	want := a.answered.Load() + more
	eventually(t, fmt.Sprintf("%d more answers", more), func() error {
		if got := a.answered.Load(); got < want {
			return fmt.Errorf("%d of %d", got, want)
		}
		return nil
	})
}
